import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DELETED_USER_ID } from '../../../src/features/deletions/soft-delete.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type OperatorUser, operatorsEnv, userIdOf } from '../../support/operator.ts';
import { createConnector, createKey, createProject, createWebhook } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Entry = {
  action: string;
  projectId: string | null;
  targetId: string;
  actorKind: string;
  actorId: string;
  actorName: string;
  changes: Record<string, unknown>;
  previous: Record<string, unknown> | null;
};

const USERS = '/api/operator/users';

let app: TestApp;
let rest: Rest;
let olga: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', ...operatorsEnv('olga', 'otto') } });
  rest = await openRest(app);
  olga = await app.user('olga', 'ENTERPRISE');
});
afterAll(() => app?.stop());

/** A user with tokens that have no tier. */
async function newUser(subject: string): Promise<TestUser & { id: string }> {
  const user = app.caller(await app.issuer.sign({ subject }));
  return { ...user, subject, id: await userIdOf(user) };
}

const update = (id: string, body: object) => rest.send<OperatorUser>(olga, 'PATCH', `${USERS}/${id}`, { body });
const listed = async (query: string) =>
  (await rest.send<{ data: OperatorUser[]; nextCursor: string | null }>(olga, 'GET', `${USERS}?${query}`)).body;
const logOf = async (user: TestUser) => (await rest.send<{ data: Entry[] }>(user, 'GET', '/api/audit-log')).body.data;

const ALL_REQUESTS = (id: string) =>
  [
    ['GET', USERS],
    ['GET', `${USERS}/${id}`],
    ['PATCH', `${USERS}/${id}`, { tier: 'ENTERPRISE' }],
    ['POST', `${USERS}/${id}/block`, { reason: 'Because.' }],
    ['POST', `${USERS}/${id}/unblock`, {}],
  ] as const;

const DOCUMENTS = (id: string) => [
  '{ operatorUsers { nodes { userId } } }',
  `{ operatorUser(id: "${id}") { userId subject usage { projectCount } } }`,
  `mutation { updateUser(input: { id: "${id}", tier: ENTERPRISE }) { user { userId } } }`,
  `mutation { blockUser(input: { id: "${id}", reason: "Because." }) { user { userId } } }`,
  `mutation { unblockUser(input: { id: "${id}" }) { user { userId } } }`,
];

describe('users are hidden from everyone except operators', () => {
  let victim: TestUser & { id: string };
  const callers: Record<string, TestUser> = {};

  beforeAll(async () => {
    victim = await newUser('victim');
    const { base } = await createProject(olga);
    Object.assign(callers, {
      'another user': await app.user('mallory'),
      'the user themselves': victim,
      'an API key of an operator': app.caller((await createKey(olga, base)).key),
      'a user with an operator’s name in another spelling': await app.user('Olga'),
    });
  });

  test.each([
    'another user',
    'the user themselves',
    'an API key of an operator',
    'a user with an operator’s name in another spelling',
  ])('%s', async (name) => {
    const caller = callers[name]!;
    const missing = newId('User');
    for (const [index, [method, path, body]] of ALL_REQUESTS(victim.id).entries()) {
      const { status, body: problem } = await caller.rest<Record<string, unknown>>(method, path, body);
      expect([method, path, status, problem.code]).toEqual([method, path, 404, 'NOT_FOUND']);
      const [, otherPath] = ALL_REQUESTS(missing)[index]!;
      const other = await caller.rest<Record<string, unknown>>(method, otherPath, body);
      expect({ ...other.body, instance: '', requestId: '' }).toEqual({ ...problem, instance: '', requestId: '' });
    }
    for (const [index, document] of DOCUMENTS(victim.id).entries()) {
      const { data, errors } = await caller.graphql(document);
      expect(Object.values(data ?? {}), document).toEqual([null]);
      const other = await caller.graphql(DOCUMENTS(missing)[index]!);
      expect(errors?.map(({ message, extensions }) => [message, extensions.code])).toEqual(
        other.errors?.map(({ message, extensions }) => [message, extensions.code]),
      );
    }
    const { data } = await caller.graphql<{ viewer: { isOperator: boolean } }>('{ viewer { isOperator } }');
    expect(data!.viewer.isOperator).toBe(false);
  });

  test('none of these requests changed anything', async () => {
    const { body } = await rest.send<OperatorUser>(olga, 'GET', `${USERS}/${victim.id}`);
    expect(body).toMatchObject({ tier: 'STARTER', tierSetBy: 'ISSUER', blockedAt: null });
  });

  test('an operator can make all of these requests', async () => {
    const { id } = await newUser('subordinate');
    for (const [method, path, body] of ALL_REQUESTS(id)) {
      const { status } = await rest.send(olga, method, path, body === undefined ? {} : { body });
      expect([method, path, status]).toEqual([method, path, 200]);
    }
    for (const document of DOCUMENTS(id)) expect((await olga.graphql(document)).errors).toBeUndefined();
    const { data } = await olga.graphql<{ viewer: { isOperator: boolean } }>('{ viewer { isOperator } }');
    expect(data!.viewer.isOperator).toBe(true);
  });

  test('an operator gets the same response for a user that does not exist', async () => {
    for (const [method, path, body] of ALL_REQUESTS(newId('User')).slice(1)) {
      expect((await rest.send(olga, method, path, body === undefined ? {} : { body })).status).toBe(404);
    }
  });
});

describe('the list of users', () => {
  test('can be filtered by issuer, subject, tier, and block status, and is paginated', async () => {
    const first = await newUser('list-1');
    const second = await newUser('list-2');
    await update(second.id, { tier: 'BUSINESS' });
    await rest.send(olga, 'POST', `${USERS}/${first.id}/block`, { body: { reason: 'Unpaid.' } });
    const ids = async (query: string) => (await listed(query)).data.map(({ id }) => id);

    expect(await ids('subject=list-1')).toEqual([first.id]);
    expect(await ids(`issuer=${encodeURIComponent(app.issuer.config.issuer)}&subject=list-2`)).toEqual([second.id]);
    expect(await ids('issuer=https%3A%2F%2Fother.example&subject=list-2')).toEqual([]);
    expect(await ids('tier=BUSINESS')).toEqual([second.id]);
    expect(await ids('isBlocked=true')).toEqual([first.id]);
    expect(await ids('isBlocked=false')).not.toContain(first.id);
    expect(await ids('subject=list-1&from=2020-01-01T00:00:00Z')).toEqual([first.id]);
    expect(await ids('to=2020-01-01T00:00:00Z')).toEqual([]);

    const all = await ids('limit=100');
    expect(all.slice(0, 2)).toEqual([second.id, first.id]);
    const page = await listed('limit=1');
    expect(await ids(`limit=1&after=${page.nextCursor}`)).toEqual([first.id]);
  });

  test('a user includes counts of the resources in the account', async () => {
    const user = await newUser('collector');
    await update(user.id, { tier: 'PRO' });
    const { base } = await createProject(user);
    await createProject(user);
    await createConnector(user, base);
    await createWebhook(user, base);
    const { status } = await user.rest('POST', `${base}/endpoints`, {
      path: '/a',
      upstreamUrl: 'https://api.example.com/',
      priceUsd: '1',
    });
    expect(status).toBe(201);
    const { body } = await rest.send(olga, 'GET', `${USERS}/${user.id}`);
    // The connector and the webhook each have a delivery of `endpoint.created`, which is never sent in this test.
    expect(body).toMatchObject({
      subject: 'collector',
      usage: { projectCount: 2, connectorCount: 1, waitingDeliveryCount: 2 },
    });
  });
});

test('the reserved account that owns deleted resources can neither be seen nor changed', async () => {
  const id = DELETED_USER_ID;
  expect((await listed('limit=100')).data.map((user) => user.id)).not.toContain(id);
  for (const [method, path, body] of ALL_REQUESTS(id).slice(1))
    expect((await rest.send(olga, method, path, body === undefined ? {} : { body })).status).toBe(404);
});

describe('the limits that an operator sets', () => {
  test('are the tier and the rate limit of a user, and apply to the next request', async () => {
    const user = await newUser('climber');
    const policy = async () => (await user.rest('GET', '/api/projects')).headers.get('ratelimit-policy');
    expect(await policy()).toBe('"default";q=60;w=60');
    expect((await update(user.id, { tier: 'BUSINESS' })).body).toMatchObject({
      tier: 'BUSINESS',
      requestsPerMinute: null,
      tierSetBy: 'OPERATOR',
    });
    expect(await policy()).toBe('"default";q=1000;w=60');
    expect((await update(user.id, { tier: 'ENTERPRISE', requestsPerMinute: 7000 })).status).toBe(200);
    expect(await policy()).toBe('"default";q=7000;w=60');
    expect((await update(user.id, { requestsPerMinute: null })).status).toBe(200);
    expect(await policy()).toBeNull();
  });

  test('can include a rate limit only on the ENTERPRISE tier, and moving to another tier removes it', async () => {
    const user = await newUser('former');
    expect(await update(user.id, { requestsPerMinute: 5 })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/requestsPerMinute' }] },
    });
    await update(user.id, { tier: 'ENTERPRISE', requestsPerMinute: 500 });
    expect((await update(user.id, { tier: 'PRO' })).body.requestsPerMinute).toBeNull();
    for (const requestsPerMinute of [0, 1_000_001])
      expect((await update(user.id, { tier: 'ENTERPRISE', requestsPerMinute })).status).toBe(422);
  });

  test('are not changed by token claims until the operator allows it', async () => {
    const user = await newUser('claimant');
    const tierIn = async (caller: TestUser) =>
      (await caller.graphql<{ viewer: { tier: string } }>('{ viewer { tier } }')).data!.viewer.tier;
    expect(await tierIn(await app.user('claimant', 'PRO'))).toBe('PRO');
    await update(user.id, { tier: 'BUSINESS' });
    expect(await tierIn(await app.user('claimant', 'STARTER'))).toBe('BUSINESS');
    expect(await tierIn(user)).toBe('BUSINESS');
    expect((await update(user.id, { tierSetBy: 'ISSUER' })).body).toMatchObject({ tier: 'BUSINESS' });
    expect(await tierIn(await app.user('claimant', 'PRO'))).toBe('PRO');
  });
});

describe('audit logs', () => {
  test("the operator's audit log names the user, but the user's log does not name the operator", async () => {
    const user = await newUser('logged');
    await update(user.id, { tier: 'ENTERPRISE', requestsPerMinute: 100 });
    await rest.send(olga, 'POST', `${USERS}/${user.id}/block`, { body: { reason: 'Unpaid invoice.' } });
    await rest.send(olga, 'POST', `${USERS}/${user.id}/unblock`, {});
    const account = { projectId: null, targetId: user.id };
    const expected = [
      { ...account, action: 'user.unblocked', changes: { reason: null }, previous: null },
      { ...account, action: 'user.blocked', changes: { reason: 'Unpaid invoice.' }, previous: null },
      {
        ...account,
        action: 'user.updated',
        changes: { tier: 'ENTERPRISE', requestsPerMinute: 100, tierSetBy: 'OPERATOR' },
        previous: { tier: 'STARTER', requestsPerMinute: null, tierSetBy: 'ISSUER' },
      },
    ];
    const operator = { actorKind: 'OPERATOR', actorId: 'operator', actorName: 'operator' };
    expect(await logOf(user)).toMatchObject(expected.map((entry) => ({ ...entry, ...operator })));
    const olgasId = await userIdOf(olga);
    const own = (await logOf(olga)).filter(({ targetId }) => targetId === user.id);
    const olgas = { actorKind: 'USER', actorId: olgasId, actorName: 'olga' };
    expect(own).toMatchObject(expected.map((entry) => ({ ...entry, ...olgas })));
    expect(JSON.stringify(await logOf(user))).not.toContain(olgasId);
  });

  test('a change that changes nothing has no entry', async () => {
    const user = await newUser('unchanged');
    await rest.send(olga, 'POST', `${USERS}/${user.id}/unblock`, {});
    await update(user.id, { tierSetBy: 'ISSUER' });
    expect(await logOf(user)).toEqual([]);
  });

  test("an account's audit log is not visible to its API keys, except for their project", async () => {
    const user = await newUser('keyholder');
    const { base } = await createProject(user);
    const { key } = await createKey(user, base);
    await update(user.id, { tier: 'PRO' });
    const actions = (await logOf(app.caller(key))).map(({ action }) => action);
    expect(actions).toEqual(['api_key.created', 'project.created']);
    expect((await logOf(user)).map(({ action }) => action)[0]).toBe('user.updated');
  });
});

test('an operator cannot be blocked', async () => {
  const otto = await newUser('otto');
  for (const id of [otto.id, await userIdOf(olga)]) {
    const { status, body } = await rest.send(olga, 'POST', `${USERS}/${id}/block`, { body: { reason: 'Mutiny.' } });
    expect([status, body]).toMatchObject([409, { code: 'CONFLICT', detail: expect.stringContaining('OPERATORS') }]);
  }
});
