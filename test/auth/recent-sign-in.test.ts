import { describe, expect, test } from 'vitest';
import { ROLE_PERMISSIONS, type Role } from '../../src/auth/permissions.ts';
import { createRequireRecentSignIn, grantsProtected } from '../../src/auth/recent-sign-in.ts';
import type { Viewer } from '../../src/auth/viewer.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const ACCOUNT = { userId: 'usr_1', tier: 'PRO', requestsPerMinute: null } as const;

const person = (agoSeconds?: number): Viewer => ({
  ...ACCOUNT,
  kind: 'user',
  expiresAt: new Date(NOW),
  ...(agoSeconds !== undefined && { signedInAt: new Date(NOW - agoSeconds * 1000) }),
});
const key: Viewer = { ...ACCOUNT, kind: 'apiKey', apiKeyId: 'key_1', projectId: 'proj_1', scopes: [], expiresAt: null };
const check = (maxAgeSeconds: number | undefined, viewer: Viewer) => () =>
  createRequireRecentSignIn(maxAgeSeconds, () => NOW)(viewer, 'change `walletAddress`');

describe('a recent sign-in', () => {
  test.each<[string, number | undefined, Viewer]>([
    ['is not required if there is no rule', undefined, person(1e9)],
    ['is not required from an API key', 900, key],
    ['is one within the time limit', 900, person(900)],
    ['may be half a minute older, to allow for clock skew', 900, person(930)],
    ['may be slightly in the future, to allow for clock skew', 900, person(-20)],
  ])('%s', (_what, maxAgeSeconds, viewer) => {
    expect(check(maxAgeSeconds, viewer)).not.toThrow();
  });

  test.each<[string, Viewer]>([
    ['was longer ago', person(931)],
    ['has no known time', person()],
    ['is further in the future than clock skew explains', person(-31)],
  ])('is missing if it %s', (_what, viewer) => {
    expect(check(900, viewer)).toThrow(
      expect.objectContaining({
        code: 'RECENT_SIGN_IN_REQUIRED',
        message:
          'To change `walletAddress`, you must have signed in within the last 15 minutes. Sign in again, then retry with the new token.',
        maxAgeSeconds: 900,
      }),
    );
  });

  test.each([
    [60, 'within the last minute.'],
    [90, 'within the last 90 seconds.'],
  ])('has its time limit of %i seconds described in words', (maxAgeSeconds, words) => {
    expect(check(maxAgeSeconds, person())).toThrow(words);
  });
});

test.each<[Role, Role | undefined, boolean]>([
  ['OWNER', 'ADMIN', true],
  ['ADMIN', undefined, true],
  ['ADMIN', 'DEVELOPER', true],
  ['ADMIN', 'ADMIN', false],
  ['DEVELOPER', undefined, true],
  ['DEVELOPER', 'VIEWER', true],
  ['DEVELOPER', 'ADMIN', false],
  ['VIEWER', undefined, false],
  ['VIEWER', 'ADMIN', false],
])('giving someone the role %s instead of %s grants protected permissions: %s', (role, before, grants) => {
  expect(grantsProtected(ROLE_PERMISSIONS[role], before && ROLE_PERMISSIONS[before])).toBe(grants);
});
