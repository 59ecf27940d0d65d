import { Button } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from 'wouter';
import { HELP_TOPICS } from '../pages/help-topics.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { HelpTopicContext } from '../parts/help-link.tsx';
import { Page } from '../parts/page.tsx';

/** Shown if no page matches the address. */
export function NotFound() {
  return (
    <HelpTopicContext value={HELP_TOPICS.notFound}>
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
    </HelpTopicContext>
  );
}
