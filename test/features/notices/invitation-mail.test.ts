import { expect, test } from 'vitest';
import { invitationMailOf } from '../../../src/features/notices/invitation-mail.ts';
import type { InvitationContent } from '../../../src/features/notices/messages.ts';

const content: InvitationContent = {
  kind: 'invitation',
  projectId: 'proj_1',
  projectName: 'Weather',
  url: null,
  invitationId: 'inv_1',
  role: 'VIEWER',
  invitedByName: 'alice@example.com',
  expiresAt: '2026-01-02T03:04:05.678Z',
};

test('an email about an invitation says who sent it, which project it is for, and where to respond', () => {
  const url = 'https://tollgate.example/console/invitations';
  const { subject, text } = invitationMailOf({ ...content, url });
  expect(subject).toBe('Invitation to the project “Weather” in Tollgate');
  expect(text).toContain('alice@example.com invites you to the project “Weather” in Tollgate, with the viewer role.');
  expect(text).toContain(`sign in: ${url}`);
  expect(text).toContain('expires on 2026-01-02');
});

test.each([
  ['https://evil.example'],
  ['Visit evil.example now'],
  ['evil.example/pay'],
  ['Call +1:555'],
  ['Visit evil。example now'],
  ['evil．example／pay'],
  ['Your account is locked. Call +1 (202) 555 0123'],
  ['Call 555-0123 now'],
  ['Call 1 - 202 - 555 - 0123'],
  ['Call ５５５ ０１２３'],
  ['x'.repeat(61)],
])('an email about an invitation leaves out the name %s, which could be mistaken for a link', (name) => {
  const { subject, text } = invitationMailOf({ ...content, projectName: name, invitedByName: `${name} ` });
  expect(subject + text).not.toContain(name);
  expect(text).toContain('Someone invites you to a project in Tollgate');
});

test.each([['Weather 2026-11-30'], ['Top 100 of 2026'], ['Orders 123456']])(
  'an email about an invitation contains the name %s, whose digits aren’t a phone number',
  (projectName) => {
    expect(invitationMailOf({ ...content, projectName }).subject).toContain(`“${projectName}”`);
  },
);

test('an email about an invitation contains an address only as the sender, and not as the project’s name', () => {
  const { subject, text } = invitationMailOf({ ...content, projectName: 'help@evil.example' });
  expect(subject + text).not.toContain('evil');
  expect(text).toContain('alice@example.com invites you to a project in Tollgate');
});

test('an email about an offer says that the person would become the owner', () => {
  const { subject, text } = invitationMailOf({ ...content, role: 'OWNER' });
  expect(subject).toBe('Offer to own the project “Weather” in Tollgate');
  expect(text).toContain('alice@example.com offers you ownership of the project “Weather” in Tollgate.');
  expect(text).toContain('The offer expires on 2026-01-02');
  expect(text).not.toContain('role');
});
