import { expect } from 'vitest';
import type { TestApp, TestUser } from './app.ts';
import { create, type Resource } from './resources.ts';

type MemberRole = 'ADMIN' | 'DEVELOPER' | 'VIEWER';

/** A person with the verified address `<subject>@example.com`. */
export const person = (
  app: Pick<TestApp, 'user'>,
  subject: string,
  tier: Parameters<TestApp['user']>[1] = 'PRO',
): Promise<TestUser> => app.user(subject, tier, `${subject}@example.com`);

/** Invites a person, who doesn't respond. */
export const invite = (
  inviter: TestUser,
  base: string,
  guest: TestUser | string,
  role: MemberRole,
): Promise<Resource> =>
  create(inviter, `${base}/invitations`, {
    email: typeof guest === 'string' ? guest : `${guest.subject}@example.com`,
    role,
  });

/** Invites a person, who accepts. Returns the member. */
export async function join(inviter: TestUser, base: string, guest: TestUser, role: MemberRole): Promise<Resource> {
  const { id } = await invite(inviter, base, guest, role);
  const { status, body } = await guest.rest<Resource>('POST', `/api/invitations/${id}/accept`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}
