import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sweepIdempotencyKeys } from '../../src/features/idempotency/store.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { createEndpoint, createKey, createProject, createWebhook, GOOD, type Resource } from '../support/resources.ts';
import { openRest, type Rest, type RestResponse } from '../support/rest.ts';
import { waitingStatements } from '../support/waiting-statements.ts';

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;
let bob: TestUser;
let base: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
  bob = await app.user('bob', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

beforeEach(async () => {
  ({ base } = await createProject(alice));
});

type Credential = { token: string };
let keys = 0;
const newKey = () => `key-${++keys}`;
const post = (path: string, body: unknown, key: string, as: Credential = alice, client = rest) =>
  client.send<Resource>(as, 'POST', path, { body, headers: { 'idempotency-key': key } });
const count = async (list: string) =>
  (await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/${list}?limit=100`)).body.data.length;

function expectReplay(answer: RestResponse<Resource>, first: RestResponse<Resource>): void {
  expect(answer.status).toBe(first.status);
  expect(answer.text).toBe(first.text);
  for (const name of ['location', 'content-type']) expect(answer.headers.get(name)).toBe(first.headers.get(name));
  expect(answer.headers.get('idempotency-replayed')).toBe('true');
}

describe('a retry with the same Idempotency-Key', () => {
  test.each(['endpoints', 'webhooks', 'connectors', 'keys'] as const)(
    'returns the original response of %s, including secrets, and creates nothing',
    async (list) => {
      const body = { endpoints: GOOD.endpoint, webhooks: GOOD.webhook, connectors: GOOD.connector, keys: GOOD.key }[
        list
      ];
      const key = newKey();
      const first = await post(`${base}/${list}`, body, key);
      expect(first.status).toBe(201);
      expect(first.headers.get('idempotency-replayed')).toBeNull();
      for (let time = 0; time < 3; time++) expectReplay(await post(`${base}/${list}`, body, key), first);
      expect(await count(list)).toBe(1);
    },
  );

  test('does not run an action again', async () => {
    const webhook = await createWebhook(alice, base);
    const path = `${base}/webhooks/${webhook.id}/rotate-secret`;
    const key = newKey();
    const first = await post(path, undefined, key);
    expectReplay(await post(path, undefined, key), first);
    expect((await post(path, undefined, newKey())).body.secret).not.toBe(first.body.secret);
  });

  test('returns the original response even if the resource was deleted', async () => {
    const key = newKey();
    const first = await post(`${base}/endpoints`, GOOD.endpoint, key);
    await rest.send(alice, 'DELETE', `${base}/endpoints/${first.body.id}`);
    expectReplay(await post(`${base}/endpoints`, GOOD.endpoint, key), first);
  });

  test('can have the key with or without quotes', async () => {
    const key = newKey();
    const first = await post(`${base}/endpoints`, GOOD.endpoint, `"${key}"`);
    expectReplay(await post(`${base}/endpoints`, GOOD.endpoint, key), first);
  });

  test('returns the original response from another process', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir });
    try {
      const key = newKey();
      const first = await post(`${base}/webhooks`, GOOD.webhook, key);
      const client = await openRest(other);
      expectReplay(await post(`${base}/webhooks`, GOOD.webhook, key, alice, client), first);
      const changed = await post(`${base}/webhooks`, { ...GOOD.webhook, description: 'x' }, key, alice, client);
      expect(changed.status).toBe(422);
    } finally {
      await other.stop();
    }
  });
});

describe('an Idempotency-Key is rejected with', () => {
  test.each<[string, () => [path: string, body: object]]>([
    ['another body', () => [`${base}/endpoints`, { ...GOOD.endpoint, priceUsd: '0.02' }]],
    ['an additional field', () => [`${base}/endpoints`, { ...GOOD.endpoint, description: 'x' }]],
    ['another path', () => [`${base}/webhooks`, GOOD.endpoint]],
    ['another query', () => [`${base}/endpoints?x=1`, GOOD.endpoint]],
  ])('%s', async (_name, request) => {
    const key = newKey();
    await post(`${base}/endpoints`, GOOD.endpoint, key);
    const answer = await post(...request(), key);
    expect(answer).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await count('endpoints')).toBe(1);
  });

  test('another project', async () => {
    const key = newKey();
    await post(`${base}/endpoints`, GOOD.endpoint, key);
    const other = await createProject(alice);
    expect((await post(`${other.base}/endpoints`, GOOD.endpoint, key)).status).toBe(422);
  });
});

describe('concurrent requests with the same Idempotency-Key', () => {
  test.each([20])('create only once if %i are sent, and the rest get 409 or the same response', async (times) => {
    for (let round = 0; round < 5; round++) {
      const key = newKey();
      const body = { ...GOOD.endpoint, path: `/round${round}` };
      const answers = await Promise.all(Array.from({ length: times }, () => post(`${base}/endpoints`, body, key)));
      const created = answers.filter(({ status }) => status === 201);
      const fresh = created.filter(({ headers }) => headers.get('idempotency-replayed') === null);
      const waiting = answers.filter(({ status }) => status === 409);
      expect(fresh).toHaveLength(1);
      expect(created.length + waiting.length).toBe(times);
      expect(new Set(created.map(({ body: { id } }) => id)).size).toBe(1);
      for (const answer of waiting) {
        expect(answer.body.code).toBe('IDEMPOTENCY_IN_FLIGHT');
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      expect(await count('endpoints')).toBe(round + 1);
      expectReplay(await post(`${base}/endpoints`, body, key), fresh[0]!);
    }
  });

  test('get 422 if they differ', async () => {
    const key = newKey();
    const bodies = [GOOD.endpoint, { ...GOOD.endpoint, path: '/other' }];
    const answers = await Promise.all(bodies.map((body) => post(`${base}/endpoints`, body, key)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  });

  test('create only once, even through two processes', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir });
    try {
      const clients = [rest, await openRest(other)];
      const key = newKey();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          post(`${base}/webhooks`, GOOD.webhook, key, alice, clients[index % 2]!),
        ),
      );
      expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
      expect(await count('webhooks')).toBe(1);
    } finally {
      await other.stop();
    }
  });
});

describe('Idempotency-Keys', () => {
  test('are not shared with other users or API keys', async () => {
    const { key: apiKey } = await createKey(alice, base);
    const { key: secondKey } = await createKey(alice, base);
    const key = newKey();
    const first = await post(`${base}/webhooks`, GOOD.webhook, key);
    const byKeys = [await post(`${base}/webhooks`, GOOD.webhook, key, { token: apiKey })];
    byKeys.push(await post(`${base}/webhooks`, GOOD.webhook, key, { token: secondKey }));
    expect(new Set([first, ...byKeys].map(({ body }) => body.secret)).size).toBe(3);
    expectReplay(await post(`${base}/webhooks`, GOOD.webhook, key, { token: apiKey }), byKeys[0]!);

    const stranger = await post(`${base}/webhooks`, GOOD.webhook, key, bob);
    expect(stranger.status).toBe(404);
    expect(stranger.text).not.toContain('whsec_');
  });

  test('are shared by all tokens of a user', async () => {
    const key = newKey();
    const first = await post(`${base}/endpoints`, GOOD.endpoint, key);
    expectReplay(await post(`${base}/endpoints`, GOOD.endpoint, key, await app.user('alice', 'ENTERPRISE')), first);
  });

  test('do not return stored responses to a revoked API key', async () => {
    const { id, key: apiKey } = await createKey(alice, base);
    const key = newKey();
    expect((await post(`${base}/webhooks`, GOOD.webhook, key, { token: apiKey })).status).toBe(201);
    await rest.send(alice, 'DELETE', `${base}/keys/${id}`);
    expect((await post(`${base}/webhooks`, GOOD.webhook, key, { token: apiKey })).status).toBe(401);
  });
});

describe('a rejected request', () => {
  test('can be corrected and sent with the same Idempotency-Key', async () => {
    const key = newKey();
    expect((await post(`${base}/endpoints`, { ...GOOD.endpoint, priceUsd: '-1' }, key)).status).toBe(422);
    expect((await post(`${base}/endpoints`, GOOD.endpoint, key)).status).toBe(201);
  });

  test('can be retried once the conflict is resolved', async () => {
    const { id } = await createEndpoint(alice, base, { path: '/taken' });
    const key = newKey();
    const body = { ...GOOD.endpoint, path: '/taken' };
    expect((await post(`${base}/endpoints`, body, key)).status).toBe(409);
    await rest.send(alice, 'DELETE', `${base}/endpoints/${id}`);
    expect((await post(`${base}/endpoints`, body, key)).status).toBe(201);
  });
});

describe('an Idempotency-Key is 1 to 255 visible ASCII characters', () => {
  test.each(['', '""', ' ', 'a b', 'a\tb', 'ü', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'a, b'])(
    '%j is invalid',
    async (key) => {
      const answer = await post(`${base}/endpoints`, GOOD.endpoint, key);
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/Idempotency-Key' }] } });
      expect(await count('endpoints')).toBe(0);
    },
  );

  test.each(['x', 'x'.repeat(255), '!~', '8e03978e-40d5-43e8-bc93-6894a57f9324'])('%j is valid', async (key) => {
    expect((await post(`${base}/endpoints`, GOOD.endpoint, `${key}`)).status).toBe(201);
    await pool.query('DELETE FROM "IdempotencyKey" WHERE "key" = $1', [key]);
  });

  test('GET, PATCH, and DELETE ignore it', async () => {
    const headers = { 'idempotency-key': 'not a key' };
    expect((await rest.send(alice, 'PATCH', base, { body: { name: 'x' }, headers })).status).toBe(200);
    expect((await rest.send(alice, 'GET', base, { headers })).status).toBe(200);
    expect((await rest.send(alice, 'DELETE', base, { headers })).status).toBe(204);
  });
});

describe('a stored response', () => {
  test('is encrypted, so that the table contains no secrets', async () => {
    const key = newKey();
    const webhook = await post(`${base}/webhooks`, GOOD.webhook, key);
    const apiKey = await post(`${base}/keys`, GOOD.key, `${key}k`);
    const { rows } = await pool.query(
      'SELECT t::text AS text, "response" FROM "IdempotencyKey" t WHERE "key" LIKE $1',
      [`${key}%`],
    );
    expect(rows).toHaveLength(2);
    for (const { text, response } of rows) {
      expect(response).toMatch(/^v1\./);
      for (const secret of [webhook.body.secret, apiKey.body.key, GOOD.webhook.url]) {
        expect(text).not.toContain(secret);
        expect(text).not.toContain(
          Buffer.from(secret as string)
            .toString('base64')
            .slice(0, 20),
        );
      }
    }
  });

  test('expires after a day', async () => {
    const key = newKey();
    const first = await post(`${base}/webhooks`, GOOD.webhook, key);
    await pool.query(`UPDATE "IdempotencyKey" SET "expiresAt" = "expiresAt" - interval '23 hours 59 minutes'`);
    expect(await sweepIdempotencyKeys(pool)).toBe(0);
    expectReplay(await post(`${base}/webhooks`, GOOD.webhook, key), first);
    await pool.query(`UPDATE "IdempotencyKey" SET "expiresAt" = "expiresAt" - interval '1 minute'`);
    // An expired response isn't used, even if it hasn't been swept yet, so the key accepts a different request.
    const second = await post(`${base}/webhooks`, { ...GOOD.webhook, description: 'second' }, key);
    expect(second.status).toBe(201);
    expect(second.body.id).not.toBe(first.body.id);
    expect(await sweepIdempotencyKeys(pool)).toBeGreaterThan(0);
    const { rows } = await pool.query('SELECT "key" FROM "IdempotencyKey"');
    expect(rows).toEqual([{ key }]);
  });

  /** Makes a request look as if its process had died before it could store the response. */
  const die = (key: string, { secondsAgo, isBeforeCommit }: { secondsAgo: number; isBeforeCommit: boolean }) =>
    pool.query(
      `UPDATE "IdempotencyKey"
          SET "response" = NULL, "statusCode" = NULL, "createdAt" = now() - make_interval(secs => $2),
              "changedAt" = CASE WHEN $3 THEN NULL ELSE "changedAt" END
        WHERE "key" = $1`,
      [key, secondsAgo, isBeforeCommit],
    );

  test('blocks the key for a minute if its process died before the change', async () => {
    const key = newKey();
    const first = await post(`${base}/webhooks`, GOOD.webhook, key);
    await die(key, { secondsAgo: 55, isBeforeCommit: true });
    expect((await post(`${base}/webhooks`, GOOD.webhook, key)).status).toBe(409);
    await die(key, { secondsAgo: 65, isBeforeCommit: true });
    const again = await post(`${base}/webhooks`, GOOD.webhook, key);
    expect(again.status).toBe(201);
    expect(again.body.id).not.toBe(first.body.id);
  });

  test.each(['endpoints', 'webhooks', 'connectors', 'keys'] as const)(
    'if its process died after creating %s, nothing is created again',
    async (list) => {
      const body = { endpoints: GOOD.endpoint, webhooks: GOOD.webhook, connectors: GOOD.connector, keys: GOOD.key }[
        list
      ];
      const key = newKey();
      expect((await post(`${base}/${list}`, body, key)).status).toBe(201);
      await die(key, { secondsAgo: 55, isBeforeCommit: false });
      expect((await post(`${base}/${list}`, body, key)).body.code).toBe('IDEMPOTENCY_IN_FLIGHT');
      await die(key, { secondsAgo: 65, isBeforeCommit: false });
      for (let time = 0; time < 2; time++) {
        const answer = await post(`${base}/${list}`, body, key);
        expect(answer).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_RESPONSE_NOT_STORED' } });
      }
      expect(await count(list)).toBe(1);
    },
  );

  test('a request that was stopped for so long that its retry ran changes nothing', async () => {
    const webhook = await createWebhook(alice, base);
    const path = `${base}/webhooks/${webhook.id}/rotate-secret`;
    const key = newKey();
    const holder = await pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM "Webhook" WHERE id = $1 FOR UPDATE', [webhook.id]);
    const stopped = post(path, {}, key);
    await expect.poll(() => waitingStatements(pool)).toBe(1);
    await die(key, { secondsAgo: 65, isBeforeCommit: false });
    const retry = post(path, {}, key);
    await expect.poll(() => waitingStatements(pool)).toBe(2);
    await holder.query('COMMIT');
    holder.release();
    expect(await stopped).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_IN_FLIGHT' } });
    expect((await retry).status).toBe(200);
    const { body: log } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/audit-log`);
    expect(log.data.filter(({ action }) => action === 'webhook.secret_rotated')).toHaveLength(1);
    expectReplay(await post(path, {}, key), await retry);
  });
});

describe('the response stored for a member', () => {
  test('isn’t sent to someone who was removed from the project', async () => {
    const admin = await person(app, 'removed-admin', 'ENTERPRISE');
    const member = await join(alice, base, admin, 'ADMIN');
    const key = newKey();
    expect((await post(`${base}/keys`, GOOD.key, key, admin)).status).toBe(201);
    expect((await alice.rest('DELETE', `${base}/members/${member.id}`)).status).toBe(204);
    const { status, body } = await post(`${base}/keys`, GOOD.key, key, admin);
    expect([status, body]).toMatchObject([404, { code: 'NOT_FOUND' }]);
  });

  test("isn’t sent if it has a secret and the person's role no longer allows the request", async () => {
    const admin = await person(app, 'demoted-admin', 'ENTERPRISE');
    const member = await join(alice, base, admin, 'ADMIN');
    const [keyKey, endpointKey] = [newKey(), newKey()];
    expect((await post(`${base}/keys`, GOOD.key, keyKey, admin)).status).toBe(201);
    const created = await post(`${base}/endpoints`, GOOD.endpoint, endpointKey, admin);
    await alice.rest('PATCH', `${base}/members/${member.id}`, { role: 'VIEWER' });
    const { status, body } = await post(`${base}/keys`, GOOD.key, keyKey, admin);
    expect([status, body]).toMatchObject([403, { code: 'FORBIDDEN' }]);
    expectReplay(await post(`${base}/endpoints`, GOOD.endpoint, endpointKey, admin), created);
  });

  test("isn’t sent if it has the upstream secret and the person's role no longer allows the request", async () => {
    const admin = await person(app, 'demoted-rotator', 'ENTERPRISE');
    const member = await join(alice, base, admin, 'ADMIN');
    const [path, key] = [`${base}/upstream-secret/rotate`, newKey()];
    const first = await post(path, {}, key, admin);
    expect(first.body).toMatchObject({ upstreamSecret: expect.stringMatching(/^whsec_/) });
    expectReplay(await post(path, {}, key, admin), first);
    await alice.rest('PATCH', `${base}/members/${member.id}`, { role: 'VIEWER' });
    const { status, body } = await post(path, {}, key, admin);
    expect([status, body]).toMatchObject([403, { code: 'FORBIDDEN' }]);
  });

  test('is sent to someone who has offered the project with the request', async () => {
    const heir = await person(app, 'heir-of-retry', 'ENTERPRISE');
    const { id: memberId } = await join(alice, base, heir, 'ADMIN');
    const key = newKey();
    const first = await post(`${base}/transfer`, { memberId }, key);
    expect(first.status).toBe(200);
    expectReplay(await post(`${base}/transfer`, { memberId }, key), first);
  });
});
