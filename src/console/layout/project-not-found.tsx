import { Button, Group } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from 'wouter';
import { HELP_TOPICS } from '../pages/help-topics.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { HelpTopicContext } from '../parts/help-link.tsx';
import { Page } from '../parts/page.tsx';

/** Shown for projects that don't exist or belong to someone else, without revealing which. */
export function ProjectNotFound({ subject, onSignOut }: { subject: string; onSignOut(): void }) {
  const action = (
    <Group gap="sm" justify="center">
      <Button component={Link} href="/">
        All projects
      </Button>
      <Button variant="default" component={Link} href="/invitations">
        Your invitations
      </Button>
      <Button variant="default" onClick={onSignOut}>
        Use another account
      </Button>
    </Group>
  );
  return (
    <HelpTopicContext value={HELP_TOPICS.projectNotFound}>
      <Page title="Not found">
        <EmptyState icon={IconMapQuestion} title="Project not found" action={action}>
          You’re signed in as {subject}. The project may have been deleted, or it may belong to another account. If it
          does, ask its owner to invite you, or sign in with the account that has access.
        </EmptyState>
      </Page>
    </HelpTopicContext>
  );
}
