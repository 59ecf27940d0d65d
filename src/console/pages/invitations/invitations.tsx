import { Stack, Text } from '@mantine/core';
import { IconMail } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import {
  AcceptInvitationDocument,
  DeclineInvitationDocument,
  MyInvitationsDocument,
  type MyInvitationsQuery,
} from '../../../generated/console/members.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatEnum } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { AnswerButtons } from './answer-buttons.tsx';
import { OfferPanel } from './offer.tsx';

type Viewer = NonNullable<MyInvitationsQuery['viewer']>;
type Invitation = Viewer['invitations']['nodes'][number];

/** The invitations that the signed-in person can accept or decline. */
export function InvitationsPage() {
  const [{ data, error }, reload] = useQuery({ query: MyInvitationsDocument, requestPolicy: 'cache-and-network' });
  const viewer = data?.viewer ?? undefined;
  const refresh = () => reload({ requestPolicy: 'network-only' });
  return (
    <Page title="Invitations" lead="Projects that others want to share with you or transfer to you.">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {viewer?.transfers.nodes.map((offer) => (
        <OfferPanel key={offer.id} offer={offer} onDeclined={refresh} />
      ))}
      {viewer?.invitations.nodes.map((invitation) => (
        <InvitationPanel key={invitation.id} invitation={invitation} onDeclined={refresh} />
      ))}
      {viewer?.invitations.nodes.length === 0 && viewer.transfers.nodes.length === 0 && (
        <Panel>
          <EmptyState icon={IconMail} title="No invitations">
            {viewer.email
              ? `Invitations to ${viewer.email} appear here.`
              : 'Your identity provider hasn’t sent this server a verified email address for you, so you can’t receive invitations.'}
          </EmptyState>
        </Panel>
      )}
    </Page>
  );
}

function InvitationPanel({ invitation, onDeclined }: { invitation: Invitation; onDeclined(): void }) {
  const { id, projectName, role, invitedByName, expiresAt } = invitation;
  const [, go] = useLocation();
  const accepting = useSubmit(AcceptInvitationDocument);
  const declining = useSubmit(DeclineInvitationDocument);
  const problem = accepting.problem ?? declining.problem;
  async function accept(): Promise<void> {
    const member = (await accepting.submit({ input: { id } }))?.acceptInvitation?.member;
    if (member) go(`/projects/${member.projectId}`);
  }
  async function decline(): Promise<void> {
    if (await declining.submit({ input: { id } })) onDeclined();
  }
  return (
    <Panel title={projectName}>
      <Stack gap="md">
        {problem && <ProblemNotice problem={problem} />}
        <Text size="sm">
          {invitedByName} invited you with the {formatEnum(role).toLowerCase()} role. The invitation expires{' '}
          <Time iso={expiresAt} />.
        </Text>
        <AnswerButtons
          what={`the invitation to ${projectName}`}
          isAccepting={accepting.isBusy}
          isDeclining={declining.isBusy}
          onAccept={() => void accept()}
          onDecline={() => void decline()}
        />
      </Stack>
    </Panel>
  );
}
