import { Button } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from 'wouter';
import { EmptyState } from '../parts/empty-state.tsx';
import { Page } from '../parts/page.tsx';

/** Shown for resources that don't exist or belong to someone else. It doesn't say which of the two is true. */
export function NotFound({ what = 'Page' }: { what?: 'Page' | 'Project' }) {
  return (
    <Page title="Not found">
      <EmptyState
        icon={IconMapQuestion}
        title={`${what} not found`}
        action={
          <Button component={Link} href="/">
            All projects
          </Button>
        }
      >
        It may have been deleted, or it may belong to another account.
      </EmptyState>
    </Page>
  );
}
