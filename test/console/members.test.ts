import { expect, test } from 'vitest';
import { isFull, MAX_PEOPLE } from '../../src/console/pages/members/roles.ts';
import { MAX_PEOPLE_PER_PROJECT } from '../../src/features/members/invitations/quota.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

const people = (members: number, expiresAt: string[]) => ({
  members: { nodes: Array(members).fill({}) },
  invitations: { nodes: expiresAt.map((at) => ({ expiresAt: at })) },
});

test('the members page has the service’s limit on members and open invitations', () => {
  expect(MAX_PEOPLE).toBe(MAX_PEOPLE_PER_PROJECT);
});

test.each([
  [48, ['2026-01-08T00:00:00Z'], false],
  [49, ['2026-01-08T00:00:00Z'], true],
  [49, ['2025-12-31T00:00:00Z'], false],
  [50, [], true],
])('with %i members and invitations that expire at %j, isFull returns %s', (members, expiresAt, full) => {
  expect(isFull(people(members, expiresAt), NOW)).toBe(full);
});
