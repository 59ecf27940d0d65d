import { Badge, Button, Group, NativeSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { MembersDocument, RemoveMemberDocument, UpdateMemberDocument } from '../../../generated/console/members.ts';
import { ViewerDocument } from '../../../generated/console/viewer.ts';
import { type Problem, toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { ConfirmDialog } from '../../parts/confirm.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { formatEnum } from '../../parts/format.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ForRole, type Role, useRoleObstacle } from '../../parts/role.tsx';
import { Time } from '../../parts/time.tsx';
import { showDone } from '../../parts/toast.tsx';
import { InviteForm } from './invite-form.tsx';
import { OpenInvitations } from './open-invitations.tsx';
import { isFull, MEMBER_ROLES, type MemberRole, type SharedProject } from './roles.ts';
import { TransferPanel } from './transfer.tsx';

type Member = SharedProject['members']['nodes'][number];
/** The first row is the owner, who isn't a member. */
type Row = { userId: string; name: string; email?: string | null; role: Role; member?: Member };

export function MembersPage() {
  const { id, name } = useProject();
  const [{ data, error }, reload] = useQuery({
    query: MembersDocument,
    variables: { projectId: id },
    requestPolicy: 'cache-and-network',
  });
  const [{ data: session }] = useQuery({ query: ViewerDocument });
  const refresh = () => reload({ requestPolicy: 'network-only' });
  const project = data?.project ?? undefined;
  const [roleProblem, setRoleProblem] = useState<Problem>();
  const columns = useColumns(session?.viewer?.user.id, name, refresh, setRoleProblem);
  return (
    <Page title="Members" lead="The people who can use this project. The limits of the owner’s account apply.">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {roleProblem && <ProblemNotice problem={roleProblem} />}
      <Panel flush>
        <DataTable
          caption="Members"
          columns={columns}
          rows={project ? rowsOf(project) : error ? null : undefined}
          keyOf={({ userId }) => userId}
          empty={null}
        />
      </Panel>
      {project && (
        <>
          <Panel title="Invite someone">
            <ForRole lowest="ADMIN">
              <InviteForm onInvited={refresh} isFull={isFull(project)} />
            </ForRole>
          </Panel>
          {project.invitations.nodes.length > 0 && (
            <OpenInvitations invitations={project.invitations.nodes} onChange={refresh} />
          )}
          {project.viewerRole === 'OWNER' && <TransferPanel project={project} onChange={refresh} />}
        </>
      )}
    </Page>
  );
}

function rowsOf({ owner, members }: SharedProject): Row[] {
  const ofOwner: Row = { userId: owner.id, name: owner.subject, role: 'OWNER' };
  return [ofOwner, ...members.nodes.map((member) => ({ ...member, member }))];
}

function useColumns(
  viewerId: string | undefined,
  projectName: string,
  onChange: () => void,
  onRoleProblem: (problem: Problem | undefined) => void,
): Column<Row>[] {
  const isManager = useRoleObstacle('ADMIN') === undefined;
  return [
    {
      title: 'Name',
      render: ({ name, userId }) => (
        <Group gap="xs" wrap="nowrap">
          <Text size="sm">{name}</Text>
          {userId === viewerId && <Badge color="gray">You</Badge>}
        </Group>
      ),
    },
    { title: 'Email address', render: ({ email }) => email ?? '–' },
    {
      title: 'Role',
      render: ({ role, member }) =>
        member && isManager ? (
          <RoleSelect
            member={member}
            isViewer={member.userId === viewerId}
            onChange={onChange}
            onProblem={onRoleProblem}
          />
        ) : (
          <Badge>{formatEnum(role)}</Badge>
        ),
    },
    { title: 'Since', render: ({ member }) => (member ? <Time iso={member.createdAt} /> : '–') },
    {
      title: 'Actions',
      align: 'right',
      render: ({ member, userId }) =>
        member &&
        (isManager || userId === viewerId) && (
          <RemoveButton member={member} isViewer={userId === viewerId} projectName={projectName} onRemoved={onChange} />
        ),
    },
  ];
}

function RoleSelect(props: {
  member: Member;
  isViewer: boolean;
  onChange(): void;
  /** Called with the problem of the last change, or undefined if it succeeded. */
  onProblem(problem: Problem | undefined): void;
}) {
  const { member, isViewer, onChange, onProblem } = props;
  const { attempt } = useSubmit(UpdateMemberDocument);
  const word = (role: Role) => formatEnum(role).toLowerCase();
  /** Admins who lose the role also lose their open invitations, and people who lower their own role can't raise it
   * again. */
  const undo = member.role !== 'ADMIN' &&
    !isViewer && {
      label: 'Undo',
      done: `${member.name} is ${word(member.role)} again`,
      run: () => attempt({ input: { id: member.id, role: member.role } }).finally(onChange),
    };
  return (
    <NativeSelect
      size="xs"
      aria-label={`Role of ${member.name}`}
      data={MEMBER_ROLES}
      value={member.role}
      onChange={async (event) => {
        const role = event.currentTarget.value as MemberRole;
        const problem = await attempt({ input: { id: member.id, role } });
        onProblem(problem);
        if (problem) return;
        showDone(`${member.name} is now ${word(role)}`, undo || undefined);
        onChange();
      }}
    />
  );
}

function RemoveButton(props: { member: Member; isViewer: boolean; projectName: string; onRemoved(): void }) {
  const { member, isViewer, projectName, onRemoved } = props;
  const [isOpen, setOpen] = useState(false);
  const [, go] = useLocation();
  const { submit, problem, isBusy } = useSubmit(RemoveMemberDocument);
  const action = isViewer ? 'Leave' : 'Remove';
  return (
    <>
      <Button
        size="compact-xs"
        variant="subtle"
        color="red"
        aria-label={isViewer ? 'Leave the project' : `Remove ${member.name}`}
        onClick={() => setOpen(true)}
      >
        {action}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        title={isViewer ? 'Leave project' : 'Remove member'}
        action={action}
        isBusy={isBusy}
        problem={problem}
        onClose={() => setOpen(false)}
        onConfirm={async () => {
          if (!(await submit({ input: { id: member.id } }))) return;
          setOpen(false);
          if (isViewer) go('/');
          else onRemoved();
        }}
      >
        {isViewer
          ? `You will no longer see ${projectName}. To regain access, you need a new invitation.`
          : `${member.name} loses access immediately. API keys that this person created keep working: revoke any keys that they may know.`}
      </ConfirmDialog>
    </>
  );
}
