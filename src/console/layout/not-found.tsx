import { Button } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from 'wouter';
import { EmptyState } from '../parts/empty-state.tsx';
import { Page } from '../parts/page.tsx';

/** Shown if no page matches the address. */
export function NotFound() {
  return (
    <Page title="Not found">
      <EmptyState
        icon={IconMapQuestion}
        title="Page not found"
        action={
          <Button component={Link} href="/">
            All projects
          </Button>
        }
      >
        Check the address. If you followed a link, it may be out of date.
      </EmptyState>
    </Page>
  );
}
