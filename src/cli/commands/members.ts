import type { Command } from 'commander';
import {
  CliInvitationsDocument,
  CliInviteMemberDocument,
  type CliMemberFragment,
  CliMembersDocument,
  CliRemoveMemberDocument,
  CliRevokeInvitationDocument,
  CliTransferProjectDocument,
  CliUpdateMemberDocument,
  CliWithdrawTransferDocument,
  type MemberRole,
} from '../../generated/cli-documents.ts';
import { confirm } from '../confirm.ts';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { addServiceOptions, foundProject, openSession, type Session } from '../session.ts';

const ROLES: readonly MemberRole[] = ['ADMIN', 'DEVELOPER', 'VIEWER'];
const ROLE_NAMES = ROLES.map((role) => role.toLowerCase()).join(', ');
const MEMBER = 'mem_…, or the member’s email address';
const EXAMPLE_MEMBER = 'mem_01jc9x2v5qe3w8k4m6n7p9r0st';
const PER_LINE = 'print JSON Lines: one line per item';

type RoleOption = { role: string };
type YesOption = { yes?: true };

/** Commands for sharing a project. */
export function addMembers(program: Command): void {
  const members = addExamples(
    program.command('members'),
    'tollgate members list',
    'tollgate members invite bob@example.com --role developer',
  ).description('see who has access to a project, invite people, and transfer the project');

  addExamples(addServiceOptions(members.command('list'), { json: PER_LINE }), 'tollgate members list --json')
    .description('print the owner and the members')
    .action((_options, command: Command) => list(openSession(command)));

  addExamples(addServiceOptions(members.command('invite')), 'tollgate members invite bob@example.com --role developer')
    .argument('<email>', 'the person’s email address')
    .requiredOption('--role <role>', `what the person may do: ${ROLE_NAMES}`)
    .description('invite someone (they have a week to accept)')
    .action((email: string, _options, command: Command) =>
      invite(openSession(command), email, roleOf(command.opts<RoleOption>().role)),
    );

  addExamples(
    addServiceOptions(members.command('update')),
    `tollgate members update ${EXAMPLE_MEMBER} --role viewer`,
    'tollgate members update bob@example.com --role admin',
  )
    .argument('<member>', MEMBER)
    .requiredOption('--role <role>', `the new role: ${ROLE_NAMES}`)
    .description('change a member’s role, effective immediately')
    .action((member: string, _options, command: Command) =>
      update(openSession(command), member, roleOf(command.opts<RoleOption>().role)),
    );

  addExamples(addServiceOptions(members.command('remove')), 'tollgate members remove bob@example.com --yes')
    .argument('<member>', MEMBER)
    .option('--yes', 'remove without asking for confirmation')
    .description('remove a member, effective immediately, or leave the project')
    .action((member: string, _options, command: Command) =>
      remove(openSession(command), member, command.opts<YesOption>()),
    );

  addExamples(
    addServiceOptions(members.command('invitations'), { json: PER_LINE }),
    'tollgate members invitations --json',
  )
    .description('print the open invitations, including expired ones')
    .action((_options, command: Command) => invitations(openSession(command)));

  addExamples(addServiceOptions(members.command('revoke')), 'tollgate members revoke inv_01jc9x2v5qe3w8k4m6n7p9r0st')
    .argument('<invitation>', 'inv_…')
    .description('revoke an open invitation')
    .action((id: string, _options, command: Command) => revoke(openSession(command), id));

  addExamples(
    addServiceOptions(members.command('transfer')),
    `tollgate members transfer ${EXAMPLE_MEMBER}`,
    'tollgate members transfer carol@example.com --yes',
  )
    .argument('<new-owner>', 'mem_…, or an email address')
    .option('--yes', 'offer the project without asking for confirmation')
    .description('offer the project to a new owner, who has a week to accept')
    .action((to: string, _options, command: Command) => transfer(openSession(command), to, command.opts<YesOption>()));

  addExamples(addServiceOptions(members.command('withdraw')), 'tollgate members withdraw')
    .description('withdraw the offer to transfer the project')
    .action((_options, command: Command) => withdraw(openSession(command)));
}

async function list(session: Session): Promise<void> {
  const { owner, members } = await membersOf(session);
  // The owner isn't a member, so there is no ID to change or remove.
  const { id: userId, subject: name, createdAt } = owner;
  show(session, { id: null, userId, name, email: null, role: 'OWNER', createdAt }, `${userId}  OWNER  ${name}`);
  for (const member of members) show(session, member, lineOf(member));
}

async function invite(session: Session, email: string, role: MemberRole): Promise<void> {
  const input = { projectId: await session.projectId(), email, role };
  const { inviteMember } = await session.client.run(CliInviteMemberDocument, { input }, session.signal);
  const { invitation } = inviteMember!;
  show(session, invitation, `${invitation.id}  ${invitation.role}  ${invitation.email}`);
}

async function update(session: Session, given: string, role: MemberRole): Promise<void> {
  const { id } = await memberOf(session, given);
  const { updateMember } = await session.client.run(CliUpdateMemberDocument, { input: { id, role } }, session.signal);
  show(session, updateMember!.member, lineOf(updateMember!.member));
}

async function remove(session: Session, given: string, { yes }: YesOption): Promise<void> {
  const { id, name } = await memberOf(session, given);
  if (!yes) await confirm(`Remove ${name}?`, session.signal);
  await session.client.run(CliRemoveMemberDocument, { input: { id } }, session.signal);
  show(session, { id }, `${id}  removed`);
}

async function invitations(session: Session): Promise<void> {
  const projectId = await session.projectId();
  const { project } = await session.client.run(CliInvitationsDocument, { projectId }, session.signal);
  for (const each of foundProject(project, projectId).invitations.nodes) {
    show(session, each, `${each.id}  ${each.role}  ${each.email}  expires ${each.expiresAt}`);
  }
}

async function revoke(session: Session, id: string): Promise<void> {
  await session.client.run(CliRevokeInvitationDocument, { input: { id } }, session.signal);
  show(session, { id }, `${id}  revoked`);
}

async function transfer(session: Session, to: string, { yes }: YesOption): Promise<void> {
  const projectId = await session.projectId();
  if (!yes) await confirm(`Offer project ${projectId} to ${to}?`, session.signal);
  const input = { projectId, ...(to.includes('@') ? { email: to } : { memberId: to }) };
  const { transferProject } = await session.client.run(CliTransferProjectDocument, { input }, session.signal);
  const offer = transferProject!.transfer;
  show(session, offer, `${offer.id}  offered to ${offer.name}  expires ${offer.expiresAt}`);
  if (!session.isJson) note('The new owner can accept in the console, under Invitations.');
}

async function withdraw(session: Session): Promise<void> {
  const projectId = await session.projectId();
  await session.client.run(CliWithdrawTransferDocument, { input: { projectId } }, session.signal);
  show(session, { projectId }, `${projectId}  no longer offered`);
}

/** The owner and all members of the project. There are at most 50. */
async function membersOf(session: Session) {
  const projectId = await session.projectId();
  const { project } = await session.client.run(CliMembersDocument, { projectId }, session.signal);
  const { owner, members } = foundProject(project, projectId);
  return { owner, members: members.nodes };
}

/** @throws Failure if the project has no such member. */
async function memberOf(session: Session, given: string): Promise<CliMemberFragment> {
  const { members } = await membersOf(session);
  const member = members.find(({ id, email }) => id === given || email === given.toLowerCase());
  if (!member) throw new Failure('notFound', `The project has no member ${given}.`);
  return member;
}

function show({ isJson }: Session, value: object, line: string): void {
  if (isJson) printJson(value);
  else print(line);
}

const lineOf = ({ id, role, email, name }: CliMemberFragment) => [id, role, ...(email ? [email] : []), name].join('  ');

function roleOf(name: string): MemberRole {
  const role = ROLES.find((each) => each.toLowerCase() === name.toLowerCase());
  if (!role) throw new Failure('usage', `Unknown role "${name}". Use one of ${ROLE_NAMES}.`);
  return role;
}
