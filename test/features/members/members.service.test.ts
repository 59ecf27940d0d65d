import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
} from '../../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let people = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await person(app, 'alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

/** Someone new, so that no test depends on what other tests did. */
function someone(name: string, tier: 'STARTER' | 'PRO' | 'ENTERPRISE' = 'ENTERPRISE'): Promise<TestUser> {
  people += 1;
  return person(app, `${name}${people}`, tier);
}

const statusOf = async (user: TestUser, method: string, path: string, body?: unknown) =>
  (await user.rest(method, path, body)).status;

type List<Item> = { data: Item[] };
const listed = async <Item = Record<string, unknown>>(user: TestUser, path: string) =>
  (await user.rest<List<Item>>('GET', path)).body.data;

describe('what a role allows', () => {
  const ROLES = ['OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER'] as const;
  /** The lowest role for each request, and how to send it. Lower roles get 403. */
  const REQUESTS: [
    name: string,
    lowest: (typeof ROLES)[number],
    send: (user: TestUser, stage: Stage) => Promise<number>,
  ][] = [
    ['reading the project', 'VIEWER', (user, { base }) => statusOf(user, 'GET', base)],
    ['listing its members', 'VIEWER', (user, { base }) => statusOf(user, 'GET', `${base}/members`)],
    ['reading its audit log', 'VIEWER', (user, { base }) => statusOf(user, 'GET', `${base}/audit-log`)],
    [
      'creating an endpoint',
      'DEVELOPER',
      (user, { base }) => statusOf(user, 'POST', `${base}/endpoints`, { ...GOOD.endpoint, path: `/${user.subject}` }),
    ],
    [
      'changing an endpoint',
      'DEVELOPER',
      (user, { base, endpointId }) => statusOf(user, 'PATCH', `${base}/endpoints/${endpointId}`, { priceUsd: '0.02' }),
    ],
    [
      'redirecting an endpoint',
      'DEVELOPER',
      (user, { base, endpointId }) =>
        statusOf(user, 'PATCH', `${base}/endpoints/${endpointId}`, {
          upstreamUrl: `https://${user.subject}.example.com`,
        }),
    ],
    [
      'renaming the project',
      'DEVELOPER',
      (user, { base }) => statusOf(user, 'PATCH', base, { name: `By ${user.subject}` }),
    ],
    [
      'rotating a secret',
      'DEVELOPER',
      (user, { base, webhookId }) => statusOf(user, 'POST', `${base}/webhooks/${webhookId}/rotate-secret`, {}),
    ],
    [
      'sending a test event',
      'DEVELOPER',
      (user, { base, webhookId }) =>
        statusOf(user, 'POST', `${base}/webhooks/${webhookId}/test`, { eventType: 'endpoint.created' }),
    ],
    ['creating an API key', 'ADMIN', (user, { base }) => statusOf(user, 'POST', `${base}/keys`, { name: 'x' })],
    [
      'inviting someone',
      'ADMIN',
      (user, { base }) =>
        statusOf(user, 'POST', `${base}/invitations`, { email: `for-${user.subject}@example.com`, role: 'VIEWER' }),
    ],
    [
      'changing a role',
      'ADMIN',
      (user, { base, memberId }) => statusOf(user, 'PATCH', `${base}/members/${memberId}`, { role: 'VIEWER' }),
    ],
    [
      'setting a custom domain',
      'ADMIN',
      (user, { base }) => statusOf(user, 'PATCH', base, { gatewayHost: `${user.subject}.example.org` }),
    ],
    [
      'changing the wallet',
      'OWNER',
      (user, { base }) => statusOf(user, 'PATCH', base, { walletAddress: GOOD.project.walletAddress }),
    ],
    [
      'copying the project',
      'OWNER',
      (user, { base }) => statusOf(user, 'POST', `${base}/copy`, { ...GOOD.project, mode: 'TEST' }),
    ],
    [
      'transferring the project',
      'OWNER',
      (user, { base, memberId }) => statusOf(user, 'POST', `${base}/transfer`, { memberId }),
    ],
    ['deleting the project', 'OWNER', (user, { base }) => statusOf(user, 'DELETE', base)],
  ];
  type Stage = {
    base: string;
    endpointId: string;
    webhookId: string;
    memberId: string;
    callers: Record<string, TestUser>;
  };
  let stage: Stage;

  beforeAll(async () => {
    const owner = await someone('owner');
    const { base } = await createProject(owner);
    const callers: Record<string, TestUser> = { OWNER: owner };
    for (const role of ['ADMIN', 'DEVELOPER', 'VIEWER'] as const) {
      callers[role] = await someone(role.toLowerCase());
      await join(owner, base, callers[role], role);
    }
    const { id: memberId } = await join(owner, base, await someone('bystander'), 'VIEWER');
    const [{ id: endpointId }, { id: webhookId }] = [
      await createEndpoint(owner, base),
      await createWebhook(owner, base),
    ];
    stage = { base, endpointId, webhookId, memberId, callers };
  });

  test.each(REQUESTS)('%s requires the role %s', async (_name, lowest, send) => {
    const outcomes = [];
    // From the lowest role up, because the owner's request may delete or transfer the project.
    for (const role of ROLES.toReversed()) {
      const status = await send(stage.callers[role]!, stage);
      outcomes.push([role, status === 403 ? 'forbidden' : status < 300 || status === 422 ? 'allowed' : status]);
    }
    const expected = ROLES.toReversed().map((role) => [
      role,
      ROLES.indexOf(role) <= ROLES.indexOf(lowest) ? 'allowed' : 'forbidden',
    ]);
    expect(outcomes).toEqual(expected);
  });
});

test('only people who can change credentials see and rotate the upstream secret, and everyone sees their own role', async () => {
  const { id, base } = await createProject(alice);
  const [developer, viewer] = [await someone('developer'), await someone('viewer')];
  await join(alice, base, developer, 'DEVELOPER');
  await join(alice, base, viewer, 'VIEWER');
  const query = `{ project(id: "${id}") { viewerRole upstreamSecret } }`;
  const seen = async (user: TestUser) => (await user.graphql(query)).data!.project;
  expect(await seen(alice)).toEqual({ viewerRole: 'OWNER', upstreamSecret: expect.stringMatching(/^whsec_/) });
  expect(await seen(developer)).toEqual({ viewerRole: 'DEVELOPER', upstreamSecret: expect.stringMatching(/^whsec_/) });
  expect(await seen(viewer)).toEqual({ viewerRole: 'VIEWER', upstreamSecret: null });
  const rotate = (user: TestUser) => user.rest('POST', `${base}/upstream-secret/rotate`);
  expect((await rotate(viewer)).status).toBe(403);
  expect(await rotate(developer)).toMatchObject({
    status: 200,
    body: { upstreamSecret: expect.stringMatching(/^whsec_/) },
  });
});

test('only people who can change credentials see URLs in full', async () => {
  const secretUrl = 'https://hooks.example.com/T0/secretpart';
  const { id, base } = await createProject(alice, {
    upstreamHeaders: [{ name: 'x-key', value: 'sk_12345678', urlPrefix: secretUrl }],
  });
  const endpoint = await createEndpoint(alice, base, { upstreamUrl: secretUrl });
  const authentication = {
    type: 'OAUTH2_CLIENT_CREDENTIALS',
    tokenUrl: secretUrl,
    clientId: 'c',
    clientSecret: 's3cretsecret',
  };
  await createWebhook(alice, base, { url: secretUrl, authentication });
  const [developer, viewer] = [await someone('developer'), await someone('viewer')];
  await join(alice, base, developer, 'DEVELOPER');
  await join(alice, base, viewer, 'VIEWER');
  const query = `{ project(id: "${id}") {
    upstreamHeaders { urlPrefix }
    endpoints { nodes { upstreamUrl } }
    webhooks { nodes { url authentication { tokenUrl } } }
  } }`;
  const document = JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: 'https://hooks.example.com' }],
    paths: { '/other': { get: { responses: { 200: { description: 'OK' } } } } },
  });
  const seen = async (user: TestUser) => {
    const preview = await user.rest('POST', `${base}/endpoints/import/preview`, { document });
    expect(preview.status, JSON.stringify(preview.body)).toBe(200);
    return JSON.stringify([
      (await user.graphql(query)).data,
      ...(await Promise.all(
        [base, `${base}/webhooks`, `${base}/endpoints/${endpoint.id}`].map(
          async (path) => (await user.rest('GET', path)).body,
        ),
      )),
      preview.body,
    ]);
  };
  const timesSeen = async (user: TestUser) => (await seen(user)).split('secretpart').length - 1;
  expect(await timesSeen(alice)).toBe(9);
  expect(await timesSeen(developer)).toBe(9);
  expect(await timesSeen(viewer)).toBe(0);
});

test('a member sees the project in their list along with their own, and nobody else does', async () => {
  const { id, base } = await createProject(alice, { name: 'Shared' });
  const [bob, mallory] = [await someone('bob'), await someone('mallory')];
  const own = await createProject(bob);
  await join(alice, base, bob, 'VIEWER');
  const projects = await listed<{ id: string; viewerRole: string }>(bob, '/api/projects');
  expect(projects.map((project) => [project.id, project.viewerRole])).toEqual([
    [own.id, 'OWNER'],
    [id, 'VIEWER'],
  ]);
  expect(await listed(mallory, '/api/projects')).toEqual([]);
  for (const path of [base, `${base}/members`, `${base}/invitations`])
    expect(await statusOf(mallory, 'GET', path)).toBe(404);
});

test('a removed member loses access with the next request, and the project disappears from their list', async () => {
  const { base } = await createProject(alice);
  const bob = await someone('bob');
  const member = await join(alice, base, bob, 'ADMIN');
  expect(await statusOf(bob, 'GET', base)).toBe(200);
  expect(await statusOf(alice, 'DELETE', `${base}/members/${member.id}`)).toBe(204);
  expect(await statusOf(bob, 'GET', base)).toBe(404);
  expect(await listed(bob, '/api/projects')).toEqual([]);
  expect(await statusOf(bob, 'POST', `${base}/invitations`, { email: 'x@example.com', role: 'ADMIN' })).toBe(404);
});

test('members of any role can leave, but can’t remove others', async () => {
  const { base } = await createProject(alice);
  const [bob, carol] = [await someone('bob'), await someone('carol')];
  const bobMember = await join(alice, base, bob, 'VIEWER');
  const carolMember = await join(alice, base, carol, 'DEVELOPER');
  expect(await statusOf(bob, 'DELETE', `${base}/members/${carolMember.id}`)).toBe(403);
  expect(await statusOf(carol, 'DELETE', `${base}/members/${bobMember.id}`)).toBe(403);
  expect(await statusOf(bob, 'DELETE', `${base}/members/${bobMember.id}`)).toBe(204);
  expect(await statusOf(bob, 'GET', base)).toBe(404);
});

test('no role makes someone an owner, and the owner can neither be demoted nor leave', async () => {
  const { base } = await createProject(alice);
  const bob = await someone('bob');
  const member = await join(alice, base, bob, 'ADMIN');
  const { status, body } = await bob.rest('PATCH', `${base}/members/${member.id}`, { role: 'OWNER' });
  expect([status, body]).toMatchObject([422, { errors: [{ pointer: '/role' }] }]);
  expect(await statusOf(bob, 'POST', `${base}/invitations`, { email: 'x@example.com', role: 'OWNER' })).toBe(422);
  // The owner isn't a member, so there is nothing to change or remove.
  const members = await listed<{ userId: string }>(bob, `${base}/members`);
  expect(members.map(({ userId }) => userId)).toEqual([member.userId]);
});

test('a member’s changes are logged under the member’s name, and only in the owner’s account', async () => {
  const { base } = await createProject(alice);
  const bob = await someone('bob');
  const member = await join(alice, base, bob, 'DEVELOPER');
  const endpoint = await createEndpoint(bob, base);
  const [entry] = await listed(alice, `${base}/audit-log`);
  expect(entry).toMatchObject({
    action: 'endpoint.created',
    targetId: endpoint.id,
    actorKind: 'USER',
    actorId: member.userId,
    actorName: bob.subject,
  });
  const ofAccount = async (user: TestUser) =>
    (await listed<{ targetId: string }>(user, '/api/audit-log')).map(({ targetId }) => targetId);
  expect(await ofAccount(alice)).toContain(endpoint.id);
  expect(await ofAccount(bob)).not.toContain(endpoint.id);
  expect((await listed(bob, `${base}/audit-log`))[0]).toEqual(entry);
});

test('everything about members is logged', async () => {
  const { base } = await createProject(alice);
  const bob = await someone('bob');
  const member = await join(alice, base, bob, 'DEVELOPER');
  await alice.rest('PATCH', `${base}/members/${member.id}`, { role: 'VIEWER' });
  await alice.rest('DELETE', `${base}/members/${member.id}`);
  const log = await listed<{ action: string; actorName: string; changes: object }>(alice, `${base}/audit-log`);
  const email = `${bob.subject}@example.com`;
  expect(log.slice(0, -1).map(({ action, actorName, changes }) => [action, actorName, changes])).toEqual([
    ['member.removed', 'alice', { userId: member.userId, email, role: 'VIEWER' }],
    ['member.updated', 'alice', { userId: member.userId, email, role: 'VIEWER' }],
    ['invitation.accepted', bob.subject, { email, role: 'DEVELOPER' }],
    ['invitation.created', 'alice', { email, role: 'DEVELOPER' }],
  ]);
});

test('the limits of the owner’s tier apply to members, not the limits of their own tier', async () => {
  const [starter, pro] = [await someone('starter', 'STARTER'), await someone('pro')];
  const poor = await createProject(starter);
  await join(starter, poor.base, pro, 'DEVELOPER');
  const refused = await pro.rest('POST', `${poor.base}/connectors`, GOOD.connector);
  expect(refused).toMatchObject({
    status: 403,
    body: { code: 'CONNECTOR_LIMIT_REACHED', detail: expect.stringContaining('The tier of the project’s owner') },
  });
  const rich = await createProject(alice);
  await join(alice, rich.base, starter, 'DEVELOPER');
  await createConnector(starter, rich.base);
  for (let index = 0; index < 11; index++) await createWebhook(starter, rich.base);
});

test('a member’s requests count against their own rate limit', async () => {
  const { base } = await createProject(alice);
  const starter = await someone('starter', 'STARTER');
  await join(alice, base, starter, 'VIEWER');
  const { headers } = await starter.rest('GET', base);
  expect(headers.get('ratelimit-policy') ?? headers.get('ratelimit')).toContain('60');
});

test('an admin who is being removed can’t create an API key at the same time', async () => {
  const { base, id } = await createProject(alice);
  const bob = await someone('bob');
  const member = await join(alice, base, bob, 'ADMIN');
  const removal = new pg.Client({ connectionString: app.databaseUrl });
  await removal.connect();
  try {
    await removal.query('BEGIN');
    await removal.query('SELECT 1 FROM "Project" WHERE "id" = $1 FOR UPDATE', [id]);
    const creation = statusOf(bob, 'POST', `${base}/keys`, { name: 'x' });
    const waiting = async () => {
      const { rowCount } = await removal.query(
        `SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
      );
      return rowCount;
    };
    await expect.poll(waiting, { interval: 20 }).toBe(1);
    await removal.query('DELETE FROM "ProjectMember" WHERE "id" = $1', [member.id]);
    await removal.query('COMMIT');
    expect(await creation).toBe(404);
  } finally {
    await removal.end();
  }
  expect(await listed(alice, `${base}/keys`)).toEqual([]);
});

test('an API key stays valid when the person who created it is removed, and shows who that was', async () => {
  const { base } = await createProject(alice);
  const bob = await someone('bob');
  const member = await join(alice, base, bob, 'ADMIN');
  const { key, createdById } = await createKey(bob, base);
  expect(createdById).toBe(member.userId);
  await alice.rest('DELETE', `${base}/members/${member.id}`);
  expect(await statusOf(app.caller(key), 'GET', base)).toBe(200);
  expect(await listed(alice, `${base}/keys`)).toMatchObject([{ createdById: member.userId }]);
});

test('API keys can read members, but can’t change them or answer invitations', async () => {
  const { base } = await createProject(alice);
  const member = await join(alice, base, await someone('bob'), 'VIEWER');
  const key = app.caller((await createKey(alice, base)).key);
  expect(await statusOf(key, 'GET', `${base}/members/${member.id}`)).toBe(200);
  expect(await statusOf(key, 'POST', `${base}/invitations`, { email: 'x@example.com', role: 'VIEWER' })).toBe(403);
  expect(await statusOf(key, 'PATCH', `${base}/members/${member.id}`, { role: 'ADMIN' })).toBe(403);
  expect(await statusOf(key, 'DELETE', `${base}/members/${member.id}`)).toBe(403);
  expect(await statusOf(key, 'POST', '/api/invitations/inv_00000000000000000000000000/accept')).toBe(403);
});

test('deleting a project ends its memberships and invitations', async () => {
  const { base } = await createProject(alice);
  const bob = await someone('bob');
  await join(alice, base, bob, 'ADMIN');
  const carol = await someone('carol');
  await alice.rest('POST', `${base}/invitations`, { email: `${carol.subject}@example.com`, role: 'ADMIN' });
  expect(await statusOf(alice, 'DELETE', base)).toBe(204);
  expect(await statusOf(bob, 'GET', base)).toBe(404);
  expect(await listed(bob, '/api/projects')).toEqual([]);
  expect(await listed(carol, '/api/invitations')).toEqual([]);
});
