import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Viewer } from '../../../src/auth/viewer.ts';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { findProject } from '../../../src/features/projects/find.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { WALLET } from '../../support/resources.ts';

let database: TestDatabase;
let db: Database;
let userId: string;
let projectId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 2, log: pino({ level: 'silent' }) });
  userId = newId('User');
  projectId = newId('Project');
  await db.prisma.user.create({ data: { id: userId, issuer: 'https://issuer.example.com', subject: 'alice' } });
  // An amount that a floating-point number can't hold.
  const milestonesAtomic = ['1', '99999999999999999999999999999999999999'];
  const properties = { name: 'Shop', walletAddress: WALLET, gatewayHost: 'shop.example', milestonesAtomic };
  await db.prisma.project.create({ data: { id: projectId, userId, ...properties } });
});

afterAll(async () => {
  await db?.close();
  await database?.drop();
});

const account = { tier: 'PRO', requestsPerMinute: null } as const;
const user = (id: string): Viewer => ({ kind: 'user', userId: id, expiresAt: new Date(), ...account });
const apiKey = (id: string): Viewer => ({
  kind: 'apiKey',
  apiKeyId: newId('ApiKey'),
  projectId: id,
  userId,
  scopes: ['READ'],
  expiresAt: null,
  ...account,
});

test('a project has every column, with the same values as when read by Prisma', async () => {
  const expected = await db.prisma.project.findUnique({ where: { id: projectId } });
  expect(await findProject(db.pool, user(userId), projectId)).toEqual(expected);
  expect(await findProject(db.pool, apiKey(projectId), projectId)).toEqual(expected);
});

test('a member finds another user’s project, along with their own projects, and no one else’s', async () => {
  const member = (memberId: string, id: string): Viewer =>
    ({ ...user(memberId), memberships: { [id]: 'VIEWER' } }) as Viewer;
  const bob = newId('User');
  await db.prisma.user.create({ data: { id: bob, issuer: 'https://issuer.example.com', subject: 'bob' } });
  // They may have been removed since they were identified.
  expect(await findProject(db.pool, member(bob, projectId), projectId)).toBeNull();
  const membership = { id: newId('ProjectMember'), projectId, userId: bob, role: 'VIEWER', name: 'bob' } as const;
  await db.prisma.projectMember.create({ data: membership });
  expect(await findProject(db.pool, member(bob, projectId), projectId)).toMatchObject({ id: projectId });
  expect(await findProject(db.pool, member(userId, newId('Project')), projectId)).toMatchObject({ id: projectId });
  expect(await findProject(db.pool, member(newId('User'), newId('Project')), projectId)).toBeNull();
});

test('another user’s project is not found, and with an API key, only its own project is found', async () => {
  expect(await findProject(db.pool, user(newId('User')), projectId)).toBeNull();
  expect(await findProject(db.pool, apiKey(newId('Project')), projectId)).toBeNull();
  expect(await findProject(db.pool, user(userId), newId('Project'))).toBeNull();
});
