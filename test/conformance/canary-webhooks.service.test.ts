import { randomBytes } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { rotateSecrets } from '../../src/secrets/rotate.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createKey, createProject, EVERY_SCOPE, type Resource } from '../support/resources.ts';
import { type Canary, dumpDatabase, findCanaries, newCore, type Trace } from './canaries.ts';

const canaries: Canary[] = [];
const answers: Trace[] = [];
const frames: Trace[] = [];
const logLines: Trace[] = [];
/** What receivers and token URLs received and sent back. */
const outside: Trace[] = [];
const originalFetch = globalThis.fetch;
const masterKeys = [1, 2].map((number) => `k${number}:${randomBytes(32).toString('base64')}`);

let app: TestApp;
let database: TestDatabase;
let pool: pg.Pool;
let receiver: Receiver;
let tokenUrl: Receiver;
let alice: TestUser;
let base: string;
let projectId: string;
let socket: WebSocket;
let statusCode = 200;
let issues = true;

function plant(name: string): string {
  const core = newCore();
  canaries.push({ name, core });
  return core;
}

beforeAll(async () => {
  globalThis.fetch = async (...request) => {
    const response = await originalFetch(...request);
    const where = `${request[1]?.method ?? 'GET'} ${new URL(String(request[0])).pathname} ${response.status}`;
    answers.push({ where, text: `${JSON.stringify([...response.headers])}\n${await response.clone().text()}` });
    return response;
  };
  // Logs without the service's redaction, because nothing should depend on it.
  const write = (text: string) => void logLines.push({ where: `the log: ${text.slice(0, 200)}`, text });
  const log = pino({ level: 'trace' }, { write });
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  // Both servers echo everything that they receive.
  receiver = await startReceiver(({ headers, body }) => {
    const text = `${JSON.stringify(headers)} ${body}`;
    const authorization = headers.authorization ?? '';
    const decoded = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString('latin1');
    outside.push({ where: 'a request', text: `${text} ${decoded}` });
    return {
      statusCode,
      headers: { 'x-echo': encodeURIComponent(authorization), 'x-key': `${headers['x-key']}` },
      body: text,
    };
  });
  tokenUrl = await startReceiver(({ headers, body }) => {
    const repeated = `${Buffer.from(headers.authorization!.slice(6), 'base64')} ${headers.authorization} ${body}`;
    outside.push({ where: 'a request for a token', text: repeated });
    const token = issues ? { access_token: plant(`access token ${tokenUrl.requests.length}`), expires_in: 3_600 } : {};
    const error = { error: repeated.slice(0, 200), error_description: repeated };
    return { statusCode: issues ? 200 : 400, body: JSON.stringify({ ...token, ...(!issues && error) }) };
  });
  app = await startTestApp({
    log,
    databaseUrl: database.url,
    env: { SECRET_KEYS: masterKeys[0]!, DATABASE_URL: database.url },
    delivery: { retryScheduleSeconds: [] },
  });
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base, id: projectId } = await createProject(alice));
  socket = await subscribe();
});

afterAll(async () => {
  globalThis.fetch = originalFetch;
  socket?.terminate();
  await app?.stop();
  await receiver?.close();
  await tokenUrl?.close();
  await pool?.end();
  await database?.drop();
});

/** Subscribes to all of the project's events and deliveries, including attempts. */
async function subscribe(): Promise<WebSocket> {
  const ws = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  ws.on('message', (data) => frames.push({ where: 'a frame of the WebSocket', text: String(data) }));
  const send = (message: object) => ws.send(JSON.stringify(message));
  await new Promise((resolve) => ws.once('open', resolve));
  send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
  await new Promise((resolve) => ws.once('message', resolve));
  const attempts = 'attempts { number errorMessage responseBody requestHeaders responseHeaders }';
  const queries = [
    `subscription ($project: ID!) { deliveryUpdated(projectId: $project) { delivery { id status reason ${attempts} } } }`,
    'subscription ($project: ID!) { eventRecorded(projectId: $project) { event { id type data } } }',
  ];
  for (const [id, query] of queries.entries()) {
    send({ id: String(id), type: 'subscribe', payload: { query, variables: { project: projectId } } });
  }
  return ws;
}

const TYPES = {
  BASIC: (core: string) => ({ type: 'BASIC', username: 'tollgate', password: core }),
  BEARER: (core: string) => ({ type: 'BEARER', token: core }),
  OAUTH2_CLIENT_CREDENTIALS: (core: string) => ({
    type: 'OAUTH2_CLIENT_CREDENTIALS',
    tokenUrl: tokenUrl.url,
    clientId: 'client-1',
    clientSecret: core,
  }),
};
const made: string[] = [];

/** Waits until no delivery is due or in progress. */
async function settled(): Promise<void> {
  const open = `SELECT FROM "Delivery" WHERE "status" = 'RUNNING' OR ("status" = 'PENDING' AND "nextAttemptAt" IS NOT NULL)`;
  await expect.poll(async () => (await pool.query(open)).rowCount).toBe(0);
}

/** Undoes the effects of earlier failures. */
async function revive(): Promise<void> {
  await pool.query(
    'UPDATE "Webhook" SET "isActive" = true, "pausedAt" = NULL, "pausedReason" = NULL, "circuitOpenUntil" = NULL',
  );
}

describe('webhooks with secrets', () => {
  test.each(Object.entries(TYPES))('are created, changed, and rejected: %s', async (type, authenticationOf) => {
    const bodyOf = (name: string) => ({
      url: `${receiver.url}/${type}`,
      eventTypes: ['*'],
      headers: [{ name: 'X-Key', value: plant(`${type}: header ${name}`) }],
      authentication: authenticationOf(plant(`${type}: ${name}`)),
    });
    const first = await alice.rest<Resource>('POST', `${base}/webhooks`, bodyOf('at first'), {
      'idempotency-key': type,
    });
    expect(first.status, JSON.stringify(first.body)).toBe(201);
    const path = `${base}/webhooks/${first.body.id}`;
    const { url: _url, ...changes } = bodyOf('after a change');
    expect((await alice.rest('PATCH', path, changes)).status).toBe(200);
    made.push(first.body.id);

    const wrong = plant(`${type}: in the wrong place`);
    const { authentication } = bodyOf('unused');
    for (const bad of [
      { headers: [{ name: 'X-Key', value: `${wrong}\n` }] },
      { headers: [{ name: `X ${wrong}`, value: 'x' }] },
      { headers: [{ name: 'X-Key', value: 'x', colour: wrong }] },
      { headers: wrong },
      { headers: [wrong] },
      { authentication: wrong },
      { authentication: { ...authentication, type: wrong } },
      { authentication: { ...authentication, username: `${wrong}:` } },
      { authentication: { ...authentication, scope: `  ${wrong}` } },
      { authentication: { ...authentication, tokenUrl: `ftp://example.com/${wrong}` } },
      { timeoutSeconds: wrong },
      { retrySchedule: wrong },
    ]) {
      expect((await alice.rest('PATCH', path, bad)).status, JSON.stringify(bad)).toBe(422);
      const update = 'mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { webhook { id } } }';
      expect((await alice.graphql(update, { input: { id: first.body.id, ...bad } })).errors).toBeDefined();
    }
    const fields = 'headers { name value } authentication { type password token clientSecret }';
    await alice.graphql(`{ node(id: "${first.body.id}") { ... on Webhook { ${fields} } } }`);
    const { key } = await createKey(alice, base, EVERY_SCOPE);
    answers.pop();
    await app.caller(key).rest('GET', path);
  });

  test.each([200, 401, 500, 429])('send to receivers that repeat everything with the status %i', async (status) => {
    statusCode = status;
    await createEndpoint(alice, base);
    for (const id of made) await alice.rest('POST', `${base}/webhooks/${id}/test`, {});
    await settled();
    await revive();
  });

  test('send to receivers after the token URL has repeated everything', async () => {
    issues = false;
    await pool.query('UPDATE "WebhookToken" SET "sealed" = \'\', "expiresAt" = NULL');
    await createEndpoint(alice, base);
    await settled();
    const { rows } = await pool.query<{ pausedReason: string }>(
      'SELECT "pausedReason" FROM "Webhook" WHERE "pausedAt" IS NOT NULL',
    );
    expect(rows).toEqual([{ pausedReason: expect.stringContaining('The token URL refused to issue an access token') }]);

    issues = true;
    const before = receiver.requests.length;
    expect((await alice.rest('PATCH', `${base}/webhooks/${made[2]}`, { isActive: true })).status).toBe(200);
    await receiver.waitFor(before + 1);
    await settled();
  });

  test('lead to deliveries, explanations, and audit log entries, all of which are read', async () => {
    await alice.rest('GET', `${base}/webhooks`);
    await alice.rest('GET', `${base}/audit-log`);
    await alice.rest('GET', `${base}/events`);
    for (const id of made) {
      const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/webhooks/${id}/deliveries`);
      for (const delivery of body.data) {
        expect((await alice.rest('GET', `${base}/deliveries/${delivery.id}`)).status).toBe(200);
        expect((await alice.rest('GET', `${base}/deliveries/${delivery.id}/explain`)).status).toBe(200);
      }
    }
  });
});

describe('after webhooks with secrets were used', () => {
  test('the secret keys are rotated', async () => {
    const keyring = parseKeyring([...masterKeys].reverse().join());
    const log = pino(
      { level: 'trace' },
      { write: (text) => void logLines.push({ where: 'the log of the rotation', text }) },
    );
    const report = await rotateSecrets({ db: { pool }, keyring, secretBox: createSecretBox(keyring), log });
    // Three signing secrets, three sets of headers and authentication, and an access token.
    expect(report).toMatchObject({ rotated: 7, unreadable: [], remaining: 0 });
  });

  test('the search finds each secret that was sent', () => {
    const sent = canaries.filter(({ name }) => name.endsWith('after a change') || name.startsWith('access token'));
    expect(sent.length).toBeGreaterThanOrEqual(7);
    const found = new Set(findCanaries(sent, outside).map((hit) => hit.split(' in ')[0]));
    expect(sent.map(({ name }) => name).filter((name) => !found.has(name))).toEqual([]);
  });

  test('no secret is in the database', async () => {
    const dump = await dumpDatabase(pool);
    expect(dump.length).toBeGreaterThan(100);
    expect(findCanaries(canaries, dump)).toEqual([]);
  });

  test('no secret is in the log, even at the most verbose level', () => {
    expect(logLines.length).toBeGreaterThan(100);
    expect(findCanaries(canaries, logLines)).toEqual([]);
  });

  test('no secret is in a response', () => {
    expect(answers.length).toBeGreaterThan(100);
    expect(findCanaries(canaries, answers)).toEqual([]);
  });

  test('no secret was sent over the WebSocket', () => {
    expect(frames.length).toBeGreaterThan(20);
    expect(findCanaries(canaries, frames)).toEqual([]);
  });

  test('no secret is in the metrics', async () => {
    const metrics = await (await originalFetch(`${app.url}/metrics`)).text();
    expect(findCanaries(canaries, [{ where: '/metrics', text: metrics }])).toEqual([]);
  });
});
