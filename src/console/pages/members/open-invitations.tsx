import { Badge, Button, Group, Text } from '@mantine/core';
import { InviteMemberDocument, RevokeInvitationDocument } from '../../../generated/console/members.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { formatEnum } from '../../parts/format.ts';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { useRoleObstacle } from '../../parts/role.tsx';
import { Time } from '../../parts/time.tsx';
import { showDone } from '../../parts/toast.tsx';
import type { SharedProject } from './roles.ts';

type Row = SharedProject['invitations']['nodes'][number];

/** The unanswered invitations, and the link for the people who were invited. */
export function OpenInvitations({ invitations, onChange }: { invitations: readonly Row[]; onChange(): void }) {
  const { id: projectId } = useProject();
  const isManager = useRoleObstacle('ADMIN') === undefined;
  const { submit, problem, isBusy } = useSubmit(RevokeInvitationDocument);
  const invitation = useSubmit(InviteMemberDocument);
  async function revoke({ id, email, role }: Row) {
    if (!(await submit({ input: { id } }))) return;
    // Not “Undo”, because the person gets a new invitation, and perhaps another email.
    showDone(`The invitation for ${email} has been revoked`, {
      label: 'Invite again',
      done: `${email} has been invited again`,
      run: () => invitation.attempt({ input: { projectId, email, role } }).finally(onChange),
    });
    onChange();
  }
  const link = `${window.location.origin}/console/invitations`;
  const columns: Column<Row>[] = [
    { title: 'Email address', render: ({ email }) => email },
    { title: 'Role', render: ({ role }) => <Badge>{formatEnum(role)}</Badge> },
    { title: 'Invited by', render: ({ invitedByName }) => invitedByName },
    {
      title: 'Expires',
      render: ({ expiresAt }) =>
        new Date(expiresAt) < new Date() ? <Badge color="gray">Expired</Badge> : <Time iso={expiresAt} />,
    },
    {
      title: 'Actions',
      align: 'right',
      render: (row) =>
        isManager && (
          <Button
            size="compact-xs"
            variant="subtle"
            color="red"
            loading={isBusy}
            aria-label={`Revoke the invitation for ${row.email}`}
            onClick={() => revoke(row)}
          >
            Revoke
          </Button>
        ),
    },
  ];
  return (
    <Panel title="Open invitations" flush>
      {problem && <ProblemNotice problem={problem} />}
      <DataTable caption="Open invitations" columns={columns} rows={invitations} keyOf={({ id }) => id} empty={null} />
      <Group gap={4} px="md" py="sm">
        <Text size="sm" c="dimmed">
          To respond, the invited person signs in at {link} with the email address listed here. The link works only for
          them.
        </Text>
        <Copy value={link} what="invitation link" />
      </Group>
    </Panel>
  );
}
