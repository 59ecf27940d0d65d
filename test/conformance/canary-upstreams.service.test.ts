import { randomBytes } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { rotateSecrets } from '../../src/secrets/rotate.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { startTracing, type Tracing } from '../../src/tracing/start.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createKey, createWebhook, EVERY_SCOPE, type Resource } from '../support/resources.ts';
import { type Canary, dumpDatabase, findCanaries, newCore, type Trace } from './canaries.ts';

const canaries: Canary[] = [];
const answers: Trace[] = [];
const frames: Trace[] = [];
const logLines: Trace[] = [];
/** What upstreams received, which must contain the secrets. */
const outside: Trace[] = [];
/** What webhooks received. */
const events: Trace[] = [];
const originalFetch = globalThis.fetch;
const masterKeys = [1, 2].map((number) => `k${number}:${randomBytes(32).toString('base64')}`);

let rails: Rails;
let app: TestApp;
let database: TestDatabase;
let pool: pg.Pool;
let upstream: Receiver;
let webhook: Receiver;
/** Receives the traces. */
let collector: Receiver;
let tracing: Tracing | undefined;
let alice: TestUser;
let buyer: PrivateKeyAccount;
let shop: Awaited<ReturnType<typeof createShop>>;
let socket: WebSocket;
let statusCode = 200;

function plant(name: string): string {
  const core = newCore();
  canaries.push({ name, core });
  return core;
}

beforeAll(async () => {
  collector = await startReceiver();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  tracing = await startTracing(process.env);
  rails = await startRails();
  globalThis.fetch = async (...request) => {
    const response = await originalFetch(...request);
    const where = `${request[1]?.method ?? 'GET'} ${new URL(String(request[0])).pathname} ${response.status}`;
    answers.push({ where, text: `${JSON.stringify([...response.headers])}\n${await response.clone().text()}` });
    return response;
  };
  // Logs without the service's redaction, because nothing should depend on it.
  const write = (text: string) => void logLines.push({ where: `the log: ${text.slice(0, 200)}`, text });
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  // Echoes everything that it receives in the headers of its response.
  upstream = await startReceiver(({ headers }) => {
    const text = JSON.stringify(headers);
    outside.push({ where: 'a request', text });
    const repeated = {
      'x-echo': encodeURIComponent(text),
      'x-key': `${headers['x-key']}`,
      etag: `"${headers['x-key']}"`,
    };
    const location = `/?${new URLSearchParams({ authorization: `${headers.authorization}` })}`;
    return { statusCode, headers: { ...repeated, location, 'x-fine': 'fine' }, body: 'served' };
  });
  webhook = await startReceiver(({ headers, body }) => {
    events.push({ where: 'a request to a webhook', text: `${JSON.stringify(headers)} ${body}` });
    return {};
  });
  app = await startTestApp({
    env: { ...rails.env, SECRET_KEYS: masterKeys.join(), DATABASE_URL: database.url },
    databaseUrl: database.url,
    log: pino({ level: 'trace' }, { write }),
  });
  alice = await app.user('alice', 'ENTERPRISE');
  shop = await createShop(app, alice, {});
  await createWebhook(alice, shop.base, { url: webhook.url });
  buyer = await rails.wallet(100_000_000n);
  socket = await subscribe();
});

afterAll(async () => {
  globalThis.fetch = originalFetch;
  socket?.terminate();
  await app?.stop();
  await tracing?.stop();
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  await Promise.all([upstream?.close(), webhook?.close(), collector?.close()]);
  await pool?.end();
  await database?.drop();
  await rails?.close();
});

/** Subscribes to all of the project's events. */
async function subscribe(): Promise<WebSocket> {
  const ws = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  ws.on('message', (data) => frames.push({ where: 'a frame of the WebSocket', text: String(data) }));
  const send = (message: object) => ws.send(JSON.stringify(message));
  await new Promise((resolve) => ws.once('open', resolve));
  send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
  await new Promise((resolve) => ws.once('message', resolve));
  const query = 'subscription ($project: ID!) { eventRecorded(projectId: $project) { event { id type data } } }';
  send({ id: '1', type: 'subscribe', payload: { query, variables: { project: shop.projectId } } });
  return ws;
}

const headersOf = (name: string) => [
  { name: 'Authorization', value: `Bearer ${plant(`${name}: token`)}` },
  { name: 'X-Key', value: plant(`${name}: key`) },
];
const ofProject = (name: string) => headersOf(name).map((header) => ({ ...header, urlPrefix: upstream.url }));
const FIELDS = { Endpoint: 'name value', Project: 'name value urlPrefix' };

/** Sends headers with secrets in every wrong place. */
async function sendWrong(kind: 'Endpoint' | 'Project', path: string, id: string): Promise<void> {
  const wrong = plant(`${kind}: in the wrong place`);
  const header = { name: 'X-Key', value: 'x', ...(kind === 'Project' && { urlPrefix: upstream.url }) };
  for (const upstreamHeaders of [
    [{ ...header, value: `${wrong}\n` }],
    [{ ...header, name: `X ${wrong}` }],
    [{ ...header, colour: wrong }],
    [{ ...header, urlPrefix: `ftp://example.com/${wrong}` }],
    [{ value: wrong }],
    [wrong],
    wrong,
  ]) {
    expect((await alice.rest('PATCH', path, { upstreamHeaders })).status).toBe(422);
    const update = `mutation ($input: Update${kind}Input!) { update${kind}(input: $input) { clientMutationId } }`;
    expect((await alice.graphql(update, { input: { id, upstreamHeaders } })).errors).toBeDefined();
  }
}

/** The other kinds of endpoints, which send their requests differently. */
const KINDS = {
  '/stream': { settlement: 'BEFORE_REQUEST' },
  '/free': { priceUsd: '0' },
  '/mcp': { protocol: 'MCP' },
};
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
/** Every request that buyers send. */
const REQUESTS: [path: string, request?: RequestInit][] = [
  ['/a'],
  ['/b'],
  ['/a?other=1'],
  ['/stream'],
  ['/free'],
  ['/mcp'],
  ['/mcp', { method: 'POST', body: JSON.stringify(CALL) }],
  ['/mcp', { method: 'POST', body: JSON.stringify({ ...CALL, method: 'ping' }) }],
];

/** Sends a request without a payment, then with one, and then the same again. */
async function buy(path: string, request: RequestInit = {}): Promise<number[]> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer of-the-buyer' };
  const payment = v2Headers(await sign(buyer));
  const statuses: number[] = [];
  for (const paid of [{}, payment, payment]) {
    const response = await fetch(shop.url + path, { ...request, headers: { ...headers, ...paid } });
    statuses.push(response.status);
    await response.text().catch(() => 'cut off');
  }
  return statuses;
}

describe('upstream headers with secrets', () => {
  const endpointPath = () => `${shop.base}/endpoints/${shop.ids['/a']}`;

  test('are created, read, changed, and rejected', async () => {
    const body = { path: '/a', upstreamUrl: `${upstream.url}/a`, priceUsd: '0.01' };
    for (let time = 0; time < 2; time++) {
      const upstreamHeaders = headersOf(`endpoint, attempt ${time}`);
      const key = { 'idempotency-key': `create-${time}` };
      const made = await alice.rest<Resource>('POST', `${shop.base}/endpoints`, { ...body, upstreamHeaders }, key);
      expect(made.status).toBe(time === 0 ? 201 : 409);
      if (time === 0) shop.ids['/a'] = made.body.id;
    }
    await alice.rest('POST', `${shop.base}/endpoints`, { ...body, path: '/b', upstreamUrl: `${upstream.url}/b` });
    for (const [path, fields] of Object.entries(KINDS)) {
      const upstreamHeaders = headersOf(`endpoint ${path}: sent`);
      const made = { ...body, path, upstreamUrl: upstream.url + path, ...fields, upstreamHeaders };
      expect((await alice.rest('POST', `${shop.base}/endpoints`, made)).status, path).toBe(201);
    }
    const changed = await alice.rest('PATCH', endpointPath(), {
      upstreamHeaders: headersOf('endpoint, changed: sent'),
    });
    expect(changed.status).toBe(200);
    expect((await alice.rest('PATCH', shop.base, { upstreamHeaders: ofProject('project') })).status).toBe(200);
    const defaults = { upstreamHeaders: ofProject('project, changed: sent') };
    expect((await alice.rest('PATCH', shop.base, defaults)).status).toBe(200);
    const moved = { upstreamUrl: `${upstream.url}/moved` };
    expect((await alice.rest('PATCH', endpointPath(), moved)).status).toBe(422);

    await sendWrong('Endpoint', endpointPath(), shop.ids['/a']!);
    await sendWrong('Project', shop.base, shop.projectId);
  });

  test('are read by a user and an API key, over REST and GraphQL', async () => {
    const { key } = await createKey(alice, shop.base, EVERY_SCOPE);
    answers.pop();
    for (const user of [alice, app.caller(key)]) {
      for (const path of [shop.base, '/api/projects', endpointPath(), `${shop.base}/endpoints`]) {
        expect((await user.rest('GET', path)).status).toBe(200);
      }
      for (const [kind, id] of [
        ['Endpoint', shop.ids['/a']],
        ['Project', shop.projectId],
      ] as const) {
        const query = `{ node(id: "${id}") { ... on ${kind} { upstreamHeaders { ${FIELDS[kind]} } } } }`;
        expect((await user.graphql(query)).errors).toBeUndefined();
      }
    }
  });

  test.each([200, 201, 400, 500, 302, 402])(
    'are sent to an upstream that repeats them with status %i',
    async (status) => {
      statusCode = status;
      for (const [path, request] of REQUESTS) await buy(path, request);
    },
  );

  test('are sent to an upstream that cuts off its response', async () => {
    upstream.handle((_request, response) => void response.destroy());
    for (const [path, request] of REQUESTS) expect((await buy(path, request))[1], path).toBe(502);
  });

  test('belong to endpoints that buyers read about', async () => {
    for (const path of ['/openapi.json', '/.well-known/x402', '/llms.txt'])
      expect((await fetch(shop.url + path)).status, path).toBe(200);
    expect((await fetch(`${shop.url}/a`, { headers: { accept: 'text/html' } })).status).toBe(402);
  });

  test('cause a 503 if they can’t be decrypted', async () => {
    await pool.query(
      `UPDATE "Endpoint" SET "secretUpstreamHeaders" = "secretUpstreamHeaders" || 'x' WHERE path = '/a'`,
    );
    await alice.rest('PATCH', endpointPath(), { description: 'reloads the routes' });
    expect((await fetch(`${shop.url}/a`, { headers: v2Headers(await sign(buyer)) })).status).toBe(503);
    await alice.rest('PATCH', endpointPath(), { upstreamHeaders: headersOf('endpoint, after the fault') });
  });

  test('lead to events, payments, deliveries, and audit log entries, all of which are read', async () => {
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/payments?limit=100`);
    expect(body.data.length).toBeGreaterThan(10);
    for (const { id } of body.data) await alice.rest('GET', `${shop.base}/payments/${id}`);
    for (const list of ['events', 'deliveries', 'audit-log', 'customers', 'notices']) {
      expect((await alice.rest('GET', `${shop.base}/${list}?limit=100`)).status, list).toBe(200);
    }
    const headers = { authorization: `Bearer ${alice.token}` };
    for (const list of ['payments', 'events', 'audit-log'])
      expect((await fetch(`${app.url}${shop.base}/${list}/export`, { headers })).status, list).toBe(200);
    await expect.poll(() => events.length).toBeGreaterThan(5);
  });
});

describe('after upstream headers with secrets were used', () => {
  test('the secret keys are rotated', async () => {
    const keyring = parseKeyring([...masterKeys].reverse().join());
    const write = (text: string) => void logLines.push({ where: 'the log of the rotation', text });
    const log = pino({ level: 'trace' }, { write });
    const report = await rotateSecrets({ db: { pool }, keyring, secretBox: createSecretBox(keyring), log });
    expect(report).toMatchObject({ unreadable: [], remaining: 0 });
    expect(report.rotated).toBeGreaterThanOrEqual(3);
  });

  test('the search finds each secret that was sent to an upstream', () => {
    const sent = canaries.filter(({ name }) => name.includes(': sent'));
    expect(sent).toHaveLength(10);
    const found = new Set(findCanaries(sent, outside).map((hit) => hit.split(' in ')[0]));
    expect(sent.map(({ name }) => name).filter((name) => !found.has(name))).toEqual([]);
  });

  test('no secret is in the database', async () => {
    const dump = await dumpDatabase(pool);
    expect(dump.length).toBeGreaterThan(50);
    expect(findCanaries(canaries, dump)).toEqual([]);
  });

  test('no secret is in the log, even at the most verbose level', () => {
    expect(logLines.length).toBeGreaterThan(100);
    expect(findCanaries(canaries, logLines)).toEqual([]);
  });

  test('no secret is in a response, to the seller or to a buyer', () => {
    expect(answers.length).toBeGreaterThan(80);
    expect(findCanaries(canaries, answers)).toEqual([]);
  });

  test('no secret was sent over the WebSocket or to a webhook', () => {
    expect(frames.length).toBeGreaterThan(5);
    expect(findCanaries(canaries, [...frames, ...events])).toEqual([]);
  });

  test('no secret is in the traces', async () => {
    await tracing!.stop();
    const traces = collector.requests.map(({ body }) => ({ where: 'the traces', text: body.toString() }));
    expect(traces.some(({ text }) => text.includes('payment upstream'))).toBe(true);
    expect(findCanaries(canaries, traces)).toEqual([]);
  });

  test('no secret is in the metrics', async () => {
    const metrics = await (await originalFetch(`${app.url}/metrics`)).text();
    expect(findCanaries(canaries, [{ where: '/metrics', text: metrics }])).toEqual([]);
  });
});
