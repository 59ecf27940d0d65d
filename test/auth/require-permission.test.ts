import { describe, expect, test } from 'vitest';
import { type Permission, ROLE_PERMISSIONS, type Role, SCOPES, type Scope } from '../../src/auth/permissions.ts';
import {
  hasPermission,
  narrowViewer,
  requireCredentials,
  requirePermission,
} from '../../src/auth/require-permission.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { newId } from '../../src/ids.ts';

const account = { userId: newId('User'), tier: 'PRO', requestsPerMinute: null } as const;
const projectId = newId('Project');
const keyWith = (...scopes: Scope[]): Viewer => ({
  ...account,
  kind: 'apiKey',
  apiKeyId: newId('ApiKey'),
  projectId,
  scopes,
  expiresAt: null,
});
const user: Viewer = { ...account, kind: 'user', expiresAt: new Date() };
const memberOf = (memberships: Record<string, Role>): Viewer => ({ ...user, memberships }) as Viewer;
const any = (...anyOf: Permission[]) => ({ anyOf, isForPeople: false });

describe('an API key', () => {
  test('has its scopes in its own project and nothing else', () => {
    const key = keyWith('READ', 'WRITE');
    const allowed = [...SCOPES, 'MANAGE_KEYS' as const].filter((one) => hasPermission(key, projectId, one));
    expect(allowed).toEqual(['READ', 'WRITE']);
    expect(hasPermission(key, newId('Project'), 'READ')).toBe(false);
  });

  test('needs only one of the permissions, and the error lists them and says who can help', () => {
    const key = keyWith('DELIVERIES');
    expect(narrowViewer(key, any('READ', 'DELIVERIES'))).toBe(key);
    expect(narrowViewer(key, any())).toBe(key);
    expect(() => narrowViewer(key, any('READ', 'WRITE'))).toThrow(
      'This API key does not have the scope READ or WRITE. Its only scope is DELIVERIES. An owner or admin of the project can create a key with READ or WRITE.',
    );
    expect(() => requireCredentials(key, projectId, '`url`')).toThrow(
      'Changing `url` requires the scope CREDENTIALS, which this API key does not have. Its only scope is DELIVERIES. An owner or admin of the project can create a key with CREDENTIALS.',
    );
    expect(() => narrowViewer(keyWith('READ', 'DELIVERIES', 'CREDENTIALS'), any('WRITE'))).toThrow(
      'Its scopes are READ, DELIVERIES, and CREDENTIALS.',
    );
  });

  test("can't do anything that only people can do, no matter what scopes it has", () => {
    const key = keyWith(...SCOPES);
    expect(() => narrowViewer(key, { anyOf: [], isForPeople: true })).toThrow('API keys cannot do this.');
    expect(() => narrowViewer(key, { anyOf: ['WRITE'], isForPeople: true })).toThrow('API keys cannot do this.');
    expect(() => narrowViewer(key, any('MANAGE_KEYS'))).toThrow('API keys cannot do this.');
    expect(() => requirePermission(key, projectId, 'MANAGE_WALLET', 'Only owners.')).toThrow('Only owners.');
  });
});

describe('a person', () => {
  test('has every permission in their own projects', () => {
    for (const permission of ROLE_PERMISSIONS.OWNER) expect(hasPermission(user, projectId, permission)).toBe(true);
    expect(narrowViewer(user, any('DELETE_PROJECT'))).toBe(user);
  });

  test('can access only projects where their role allows the action', () => {
    const [watched, built] = [newId('Project'), newId('Project')];
    const member = memberOf({ [watched]: 'VIEWER', [built]: 'DEVELOPER' });
    expect(narrowViewer(member, any('READ'))).toBe(member);
    expect(narrowViewer(member, any('WRITE'))).toEqual({ ...member, memberships: { [built]: 'DEVELOPER' } });
    expect(narrowViewer(member, any('MANAGE_KEYS'))).toEqual({ ...member, memberships: {} });
  });

  test('gets an error that names their role and the roles that would be sufficient', () => {
    const admin = memberOf({ [projectId]: 'ADMIN' });
    expect(() => requirePermission(admin, projectId, 'MANAGE_WALLET')).toThrow(
      'Your role in this project is ADMIN. This requires the OWNER role. Ask the owner of the project.',
    );
    expect(() => requireCredentials(memberOf({ [projectId]: 'VIEWER' }), projectId, '`url`')).toThrow(
      'This requires the OWNER, ADMIN, or DEVELOPER role',
    );
    requirePermission(admin, projectId, 'MANAGE_MEMBERS');
  });

  test('can read with every role, because nested fields check only API keys', () => {
    for (const permissions of Object.values(ROLE_PERMISSIONS)) expect(permissions).toContain('READ');
  });
});
