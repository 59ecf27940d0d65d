import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { TransferProjectDocument, WithdrawTransferDocument } from '../../../generated/console/members.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { useDraft } from '../../parts/drafts.ts';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import type { SharedProject } from './roles.ts';

/** The option for someone who isn't a member. */
const BY_EMAIL = '';

type Props = { project: SharedProject; onChange(): void };

/** Offers the project to a new owner, or shows the open offer. */
export function TransferPanel({ project, onChange }: Props) {
  return (
    <Panel title="Transfer project">
      <Text size="sm" c="dimmed">
        The new owner has seven days to accept. Then the new owner’s limits apply, and you become an admin. Payments
        keep going to the current wallet until the new owner changes it.
      </Text>
      {project.transfer ? (
        <OpenOffer transfer={project.transfer} onChange={onChange} />
      ) : (
        <OfferForm project={project} onChange={onChange} />
      )}
    </Panel>
  );
}

function OpenOffer({ transfer, onChange }: { transfer: NonNullable<SharedProject['transfer']>; onChange(): void }) {
  const { id: projectId } = useProject();
  const { submit, problem, isBusy } = useSubmit(WithdrawTransferDocument);
  return (
    <Stack gap="md">
      {problem && <ProblemNotice problem={problem} />}
      <Text size="sm">
        Offered to {transfer.email ?? transfer.name}, who can accept under “Invitations” in the console. The offer
        expires <Time iso={transfer.expiresAt} />.
      </Text>
      <Group>
        <Button
          variant="default"
          loading={isBusy}
          onClick={async () => {
            if (await submit({ input: { projectId } })) onChange();
          }}
        >
          Withdraw offer
        </Button>
      </Group>
    </Stack>
  );
}

function OfferForm({ project, onChange }: Props) {
  const { id: projectId, name } = useProject();
  const members = project.members.nodes;
  const [chosen, setChosen] = useState(members[0]?.id ?? BY_EMAIL);
  const [email, setEmail] = useState('');
  const [isOpen, setOpen] = useState(false);
  const { submit, problem, isBusy } = useSubmit(TransferProjectDocument);
  useDraft(
    'transfer',
    () => ({ chosen, email }),
    (draft) => {
      setChosen(draft.chosen);
      setEmail(draft.email);
    },
  );
  const member = members.find(({ id }) => id === chosen);
  const recipient = member ? (member.email ?? member.name) : email.trim();
  return (
    <>
      <Group align="flex-end">
        <NativeSelect
          label="New owner"
          data={[
            ...members.map((each) => ({ value: each.id, label: each.email ?? each.name })),
            { value: BY_EMAIL, label: 'Someone else' },
          ]}
          value={member ? chosen : BY_EMAIL}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
        {!member && (
          <TextInput
            label="New owner’s email"
            type="email"
            w={280}
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
        )}
        <Button color="red" variant="light" disabled={recipient === ''} onClick={() => setOpen(true)}>
          Offer project
        </Button>
      </Group>
      <ConfirmDialog
        isOpen={isOpen}
        title="Transfer project"
        action="Offer"
        typed={[name]}
        isBusy={isBusy}
        problem={problem}
        onClose={() => setOpen(false)}
        onConfirm={async () => {
          const to = member ? { memberId: member.id } : { email: recipient };
          if (!(await submit({ input: { projectId, ...to } }))) return;
          setOpen(false);
          onChange();
        }}
      >
        If {recipient} accepts, {name} will belong to them. Only the new owner can undo this.
      </ConfirmDialog>
    </>
  );
}
