import { Stack, Text } from '@mantine/core';
import { useLocation } from 'wouter';
import {
  AcceptTransferDocument,
  DeclineTransferDocument,
  type MyInvitationsQuery,
} from '../../../generated/console/members.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { AnswerButtons } from './answer-buttons.tsx';

type Offer = NonNullable<MyInvitationsQuery['viewer']>['transfers']['nodes'][number];

/** A project that its owner offers to the signed-in person. */
export function OfferPanel({ offer, onDeclined }: { offer: Offer; onDeclined(): void }) {
  const { id, projectName, offeredByName, expiresAt } = offer;
  const [, go] = useLocation();
  const accepting = useSubmit(AcceptTransferDocument);
  const declining = useSubmit(DeclineTransferDocument);
  const problem = accepting.problem ?? declining.problem;
  async function accept(): Promise<void> {
    const project = (await accepting.submit({ input: { id } }))?.acceptTransfer?.project;
    if (project) go(`/projects/${project.id}`);
  }
  async function decline(): Promise<void> {
    if (await declining.submit({ input: { id } })) onDeclined();
  }
  return (
    <Panel title={projectName}>
      <Stack gap="md">
        {problem && <ProblemNotice problem={problem} />}
        <Text size="sm">
          {offeredByName} offers you ownership of this project. If you accept, it counts toward your account’s limits,
          and payments keep going to the current wallet until you change it. The offer expires <Time iso={expiresAt} />.
        </Text>
        <AnswerButtons
          what={`the project ${projectName}`}
          isAccepting={accepting.isBusy}
          isDeclining={declining.isBusy}
          onAccept={() => void accept()}
          onDecline={() => void decline()}
        />
      </Stack>
    </Panel>
  );
}
