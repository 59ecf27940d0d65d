import { Button } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from 'wouter';
import { EmptyState } from '../parts/empty-state.tsx';
import { Page } from '../parts/page.tsx';

/** What was asked for is not there, or not yours: which of the two is not told. */
export function NotFound({ what = 'page' }: { what?: string }) {
  return (
    <Page title="Not found">
      <EmptyState
        icon={IconMapQuestion}
        title={`There is no such ${what}`}
        action={
          <Button component={Link} href="/">
            All projects
          </Button>
        }
      >
        It may have been deleted, or belong to another account.
      </EmptyState>
    </Page>
  );
}
