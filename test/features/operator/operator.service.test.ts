import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DELETED_USER_ID } from '../../../src/features/deletions/soft-delete.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type OperatorUser, operatorsEnv, userIdOf } from '../../support/operator.ts';
import { createPayment } from '../../support/payments.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../../support/resources.ts';
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
    ['POST', `${USERS}/${id}/requeue`, {}],
  ] as const;

const DOCUMENTS = (id: string) => [
  '{ operatorUsers { nodes { userId } } }',
  `{ operatorUser(id: "${id}") { userId subject usage { projectCount } } }`,
  `mutation { updateUser(input: { id: "${id}", tier: ENTERPRISE }) { user { userId } } }`,
  `mutation { blockUser(input: { id: "${id}", reason: "Because." }) { user { userId } } }`,
  `mutation { unblockUser(input: { id: "${id}" }) { user { userId } } }`,
  `mutation { requeueDeliveries(input: { id: "${id}" }) { total } }`,
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

/** Runs statements on the database of the service. */
async function withSql<T>(run: (sql: pg.Client) => Promise<T>): Promise<T> {
  const sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
  try {
    return await run(sql);
  } finally {
    await sql.end();
  }
}

describe('the health of all accounts', () => {
  type Health = { userId: string; subject: string } & Record<string, unknown>;
  type Page = { data: Health[]; nextCursor: string | null };
  const SECRET = 'T0p-s3cret';
  let sick: TestUser & { id: string };
  let worse: TestUser & { id: string };

  beforeAll(async () => {
    [sick, worse] = [await newUser('sick'), await newUser('worse')];
    await update(sick.id, { tier: 'PRO' });
    const { base, id: projectId } = await createProject(sick, { name: SECRET });
    const url = `https://hooks.example.com/${SECRET}`;
    const disabled = await createWebhook(sick, base, { url, description: SECRET });
    const paused = await createWebhook(sick, base, { url });
    const failing = await createConnector(sick, base);
    // The event that this causes has a delivery for each destination, none of which is ever sent.
    await createEndpoint(sick, base, { upstreamUrl: `https://api.example.com/${SECRET}` });
    const other = await createProject(worse);
    const { paymentId } = await createPayment(app, {
      projectId: other.id,
      endpointId: newId('Endpoint'),
      mark: SECRET,
    });
    await withSql(async (sql) => {
      await sql.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE id = $1`, [
        disabled.id,
      ]);
      await sql.query(`UPDATE "Webhook" SET "pausedAt" = now(), "pausedReason" = $2 WHERE id = $1`, [
        paused.id,
        SECRET,
      ]);
      await sql.query(`UPDATE "Connector" SET "failingSince" = now() WHERE id = $1`, [failing.id]);
      await sql.query(
        `INSERT INTO "DeliveryRollup" ("projectId", "interval", "start", "succeededCount", "failedCount", "skippedCount",
           "retriedCount", "responseTimesMs", "responseCounts")
         SELECT $1, 'HOUR', date_trunc('hour', now()) - make_interval(hours => hours), 0, 3, 0, 0, '{}', '{}'
         FROM unnest(ARRAY[2, 30]) AS hours`,
        [projectId],
      );
      await sql.query(
        `UPDATE "Delivery" SET "nextAttemptAt" = '2026-01-02T03:04:05Z' WHERE "projectId" = $1 AND "connectorId" IS NOT NULL`,
        [projectId],
      );
      await sql.query(
        `UPDATE "Payment" SET status = 'UNKNOWN', "leasedUntil" = now(), "createdAt" = '2026-01-02T03:04:05Z' WHERE id = $1`,
        [paymentId],
      );
    });
  });

  const health = async (query = '') => rest.send<Page>(olga, 'GET', `/api/operator/health?${query}`);

  test('is a list of what needs attention, worst account first, without anything from inside the accounts', async () => {
    const { body, text } = await health();
    const zero = {
      unresolvedPaymentCount: 0,
      unresolvedSince: null,
      disabledDestinationCount: 0,
      pausedDestinationCount: 0,
      failingDestinationCount: 0,
      failedDeliveryCount: 0,
      overdueDeliveryCount: 0,
      overdueSince: null,
    };
    const time = '2026-01-02T03:04:05.000Z';
    expect(body.data.filter(({ userId }) => userId === sick.id || userId === worse.id)).toEqual([
      {
        userId: worse.id,
        issuer: app.issuer.config.issuer,
        subject: 'worse',
        blockedAt: null,
        ...zero,
        unresolvedPaymentCount: 1,
        unresolvedSince: time,
      },
      {
        userId: sick.id,
        issuer: app.issuer.config.issuer,
        subject: 'sick',
        blockedAt: null,
        ...zero,
        disabledDestinationCount: 1,
        pausedDestinationCount: 1,
        failingDestinationCount: 1,
        failedDeliveryCount: 3,
        overdueDeliveryCount: 1,
        overdueSince: time,
      },
    ]);
    expect(text).not.toContain(SECRET);
    const healthy = await newUser('healthy');
    await createProject(healthy);
    expect((await health('limit=100')).body.data.map(({ userId }) => userId)).not.toContain(healthy.id);
  });

  test('is paginated in both directions', async () => {
    const all = (await health('limit=100')).body.data.map(({ userId }) => userId);
    expect(all.length).toBeGreaterThan(1);
    const paged: string[] = [];
    let page = '';
    do {
      const { body } = await health(`limit=1${page}`);
      paged.push(...body.data.map(({ userId }) => userId));
      page = body.nextCursor === null ? '' : `&after=${body.nextCursor}`;
    } while (page !== '');
    expect(paged).toEqual(all);
    const ask = async (args: string) => {
      const { data } = await olga.graphql<{ operatorHealth: { edges: { cursor: string; node: Health }[] } }>(
        `{ operatorHealth(${args}) { edges { cursor node { userId } } } }`,
      );
      return data!.operatorHealth.edges;
    };
    const [last] = await ask('last: 1');
    expect(last!.node.userId).toBe(all.at(-1));
    const before = await ask(`last: 1, before: "${last!.cursor}"`);
    expect(before.map(({ node }) => node.userId)).toEqual([all.at(-2)]);
    const refused = await health('after=health.1-2.usr_00000000000000000000000000');
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/after' }] } });
  });
});

describe('requeueing an account’s failed deliveries', () => {
  test('starts a replay in each project that has any, outside the account’s daily limit, and is in all audit logs', async () => {
    const user = await newUser('requeued');
    const projects = [await createProject(user), await createProject(user), await createProject(user)];
    for (const { base } of projects.slice(0, 2)) {
      await createWebhook(user, base);
      await createEndpoint(user, base);
      await createEndpoint(user, base);
    }
    await withSql((sql) =>
      sql.query(
        `UPDATE "Delivery" SET "status" = 'FAILED', "nextAttemptAt" = NULL, "completedAt" = now() WHERE "projectId" = ANY ($1)`,
        [projects.map(({ id }) => id)],
      ),
    );
    const requeue = (body: object) =>
      rest.send<{ total: number; replayCount: number }>(olga, 'POST', `${USERS}/${user.id}/requeue`, { body });
    expect((await requeue({ dryRun: true })).body).toEqual({ total: 4, replayCount: 0 });
    expect((await requeue({ from: '2100-01-01T00:00:00Z' })).body).toEqual({ total: 0, replayCount: 0 });
    expect((await requeue({ maxPerSecond: 0 })).status).toBe(422);
    expect(await logOf(user)).not.toContainEqual(expect.objectContaining({ action: 'user.deliveries_requeued' }));

    expect((await requeue({ from: '2020-01-01T00:00:00Z', maxPerSecond: 7 })).body).toEqual({
      total: 4,
      replayCount: 2,
    });
    for (const [index, { base }] of projects.entries()) {
      const { body } = await rest.send<{ data: object[] }>(user, 'GET', `${base}/replays`);
      const filter = { status: ['FAILED'], test: false, from: '2020-01-01T00:00:00.000Z' };
      const replay = { status: 'RUNNING', startedBy: 'operator', total: 2, maxPerSecond: 7, filter };
      expect(body.data).toMatchObject(index < 2 ? [replay] : []);
    }
    // No worker runs here, so the replays don't finish.
    expect(await requeue({})).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });

    const operator = { actorKind: 'OPERATOR', actorId: 'operator', actorName: 'operator' };
    const changes = { from: '2020-01-01T00:00:00.000Z', total: 4, maxPerSecond: 7 };
    const entry = { action: 'user.deliveries_requeued', targetId: user.id, projectId: null, changes };
    const [first, ...others] = await logOf(user);
    expect(first).toMatchObject({ ...entry, ...operator });
    expect(others.slice(0, 2)).toMatchObject([
      { action: 'replay.created', projectId: projects[1]!.id, ...operator },
      { action: 'replay.created', projectId: projects[0]!.id, ...operator },
    ]);
    expect((await logOf(olga))[0]).toMatchObject({ ...entry, actorKind: 'USER', actorName: 'olga' });
    expect(JSON.stringify(await logOf(user))).not.toContain(await userIdOf(olga));
    const used = await withSql((sql) =>
      sql.query(`SELECT 1 FROM "RateLimit" WHERE "key" LIKE '%replayed-deliveries ' || $1 || '%'`, [user.id]),
    );
    expect(used.rowCount).toBe(0);
  });

  test('leaves out a project that gets a new owner while its deliveries are counted', async () => {
    const [user, heir] = [await newUser('former owner'), await newUser('new owner')];
    const { base, id } = await createProject(user);
    await createWebhook(user, base);
    await createEndpoint(user, base);
    await withSql(async (sql) => {
      await sql.query(`UPDATE "Delivery" SET "status" = 'FAILED', "nextAttemptAt" = NULL WHERE "projectId" = $1`, [id]);
      await sql.query('BEGIN');
      await sql.query('SELECT FROM "User" WHERE "id" = $1 FOR UPDATE', [user.id]);
      const requeued = rest.send(olga, 'POST', `${USERS}/${user.id}/requeue`, { body: {} });
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await expect.poll(async () => (await sql.query(waiting)).rowCount).toBe(1);
      await sql.query('UPDATE "Project" SET "userId" = $1 WHERE "id" = $2', [heir.id, id]);
      await sql.query('COMMIT');
      expect((await requeued).body).toEqual({ total: 0, replayCount: 0 });
    });
    expect((await rest.send<{ data: object[] }>(heir, 'GET', `${base}/replays`)).body.data).toEqual([]);
  });
});

test('an operator cannot be blocked', async () => {
  const otto = await newUser('otto');
  for (const id of [otto.id, await userIdOf(olga)]) {
    const { status, body } = await rest.send(olga, 'POST', `${USERS}/${id}/block`, { body: { reason: 'Mutiny.' } });
    expect([status, body]).toMatchObject([409, { code: 'CONFLICT', detail: expect.stringContaining('OPERATORS') }]);
  }
});
