import type { MembersQuery } from '../../../generated/console/members.ts';

export type SharedProject = NonNullable<MembersQuery['project']>;

export type MemberRole = 'ADMIN' | 'DEVELOPER' | 'VIEWER';

/** The roles that members can have. */
export const MEMBER_ROLES: { value: MemberRole; label: string }[] = [
  { value: 'VIEWER', label: 'Viewer' },
  { value: 'DEVELOPER', label: 'Developer' },
  { value: 'ADMIN', label: 'Admin' },
];

/** How many members and open invitations a project can have. The owner doesn’t count. */
export const MAX_PEOPLE = 50;

type People = { members: { nodes: readonly unknown[] }; invitations: { nodes: readonly { expiresAt: string }[] } };

/** Whether the limit on members and invitations is reached. Expired invitations don’t count. */
export function isFull({ members, invitations }: People, nowMilliseconds = Date.now()): boolean {
  const open = invitations.nodes.filter(({ expiresAt }) => Date.parse(expiresAt) > nowMilliseconds);
  return members.nodes.length + open.length >= MAX_PEOPLE;
}
