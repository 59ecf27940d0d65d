import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { CONNECTOR_TYPES, type ConnectorType } from '../../src/connectors/definition.ts';
import { secretsOf } from '../../src/connectors/describe.ts';
import { getConnector } from '../../src/connectors/types/registry.ts';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { rotateSecrets } from '../../src/secrets/rotate.ts';
import { createSecretBox } from '../../src/secrets/secret-box.ts';
import { openStage, type Stage } from '../connectors/end-to-end/stage.ts';
import { sampleConfig } from '../connectors/support/configs.ts';
import type { Interference } from '../connectors/support/vendors/server.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Canary, dumpDatabase, findCanaries, newCore, type Trace } from './canaries.ts';
import { createCarelessVendor, repeat } from './connector-echoes.ts';

const canaries: Canary[] = [];
const answers: (Trace & { showsOnce: boolean })[] = [];
const frames: Trace[] = [];
const logLines: Trace[] = [];
/** What vendors received and sent back, which must contain the secrets. */
const outside: Trace[] = [];

let stage: Stage;
let database: TestDatabase;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let socket: WebSocket;
const originalFetch = globalThis.fetch;
const masterKeys = [1, 2].map((number) => `k${number}:${randomBytes(32).toString('base64')}`);

/** Routes that show a secret once, when it is created. A retry with the same Idempotency-Key gets the same response. */
const SHOW_ONCE = /^POST \/api\/projects\/\w+\/(keys|webhooks|webhooks\/\w+\/rotate-secret) /;

function plant(name: string): string {
  const core = newCore();
  canaries.push({ name, core });
  return core;
}

/** Adds a secret that the service generated. */
function watch(name: string, secret: string): void {
  canaries.push({ name, core: secret.replace(/^(whsec_|tg_(live|test)_)/, '').replace(/=+$/, '') });
}

beforeAll(async () => {
  globalThis.fetch = async (...request) => {
    const response = await originalFetch(...request);
    const [url, { method = 'GET' } = {}] = request;
    const where = `${method} ${new URL(String(url)).pathname} ${response.status}`;
    const text = `${JSON.stringify([...response.headers])}\n${await response.clone().text()}`;
    answers.push({ where, text, showsOnce: SHOW_ONCE.test(where) });
    return response;
  };
  // Logs without the service's redaction, because nothing should depend on it.
  const log = pino(
    { level: 'trace' },
    { write: (text) => void logLines.push({ where: `the log: ${text.slice(0, 200)}`, text }) },
  );
  database = await createTestDatabase();
  const { url } = database;
  const env = { SECRET_KEYS: masterKeys[0]!, DATABASE_URL: url };
  stage = await openStage({ retryScheduleSeconds: [] }, { log, databaseUrl: url, env });
  for (const [index, key] of masterKeys.entries()) watch(`master key ${index + 1}`, key.split(':')[1]!);
  watch('the token of the user', stage.user.token.split('.')[2]!);
  receiver = await startReceiver((request) => ({
    statusCode: 500,
    body: `${JSON.stringify(request.headers)} ${request.body}`,
  }));
  socket = await subscribe();
});

afterAll(async () => {
  globalThis.fetch = originalFetch;
  socket?.terminate();
  await stage?.close();
  await receiver?.close();
  await database?.drop();
});

/** Subscribes to all of the project's events and deliveries, including attempts. */
async function subscribe(): Promise<WebSocket> {
  const ws = new WebSocket(`${stage.app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  ws.on('message', (data) => frames.push({ where: 'a frame of the WebSocket', text: String(data) }));
  const send = (message: object) => ws.send(JSON.stringify(message));
  await new Promise((resolve) => ws.once('open', resolve));
  send({ type: 'connection_init', payload: { Authorization: `Bearer ${stage.user.token}` } });
  await new Promise((resolve) => ws.once('message', resolve));
  const variables = { project: stage.projectId };
  const attempts = 'attempts { number statusCode errorClass errorMessage responseBody }';
  const queries = [
    `subscription ($project: ID!) { deliveryUpdated(projectId: $project) { cursor delivery { id status reason ${attempts} event { data } } } }`,
    'subscription ($project: ID!) { eventRecorded(projectId: $project) { cursor event { id type data } } }',
  ];
  const wrong = plant('in the wrong place over the WebSocket');
  send({ id: 'wrong', type: 'subscribe', payload: { query: queries[0], variables: { project: { wrong } } } });
  for (const [id, query] of queries.entries())
    send({ id: String(id), type: 'subscribe', payload: { query, variables } });
  return ws;
}

/** The keys of these types sign requests for access tokens, and are never sent. */
const SIGNING: readonly ConnectorType[] = ['bigquery', 'google-sheets'];

type Made = { type: ConnectorType; id: string; secrets: string[] };
const made: Made[] = [];

async function callGraphQL(query: string, variables: Record<string, unknown>) {
  return stage.user.graphql<Record<string, { connector: { id: string } }>>(query, variables);
}

const CREATE =
  'mutation ($input: CreateConnectorInput!) { createConnector(input: $input) { connector { id config type eventTypes } } }';

describe('the service receives secrets', () => {
  test.each(CONNECTOR_TYPES)(
    'in the config of %s: in the first request, a retry, a change, and the wrong places',
    async (type) => {
      const core = plant(`${type}: the first secret`);
      const config = sampleConfig(type, 'entered', core) as Record<string, unknown>;
      const body = { type, config, eventTypes: ['*'] };
      const headers = { 'idempotency-key': `create-${type}` };
      const first = await stage.user.rest<{ id: string }>('POST', `${stage.base}/connectors`, body, headers);
      expect(first.status).toBe(201);
      const replayed = await stage.user.rest<{ id: string }>('POST', `${stage.base}/connectors`, body, headers);
      expect(replayed.body.id).toBe(first.body.id);
      stage.vendors.accept(core);
      const { id } = first.body;
      const path = `${stage.base}/connectors/${id}`;
      const secrets = secretsOf(getConnector(type), config);
      made.push({ type, id, secrets });

      const overGraphQL = plant(`${type}: created over GraphQL`);
      const input = {
        projectId: stage.projectId,
        type: type.toUpperCase().replace('-', '_'),
        eventTypes: ['PAYMENT_FAILED', 'CUSTOMER_MILESTONE', 'REVENUE_DAILY_SUMMARY'],
      };
      const second = await callGraphQL(CREATE, {
        input: { ...input, config: sampleConfig(type, 'entered', overGraphQL) },
      });
      expect(second.errors).toBeUndefined();
      await stage.user.rest('DELETE', `${stage.base}/connectors/${second.data!.createConnector!.connector.id}`);

      const replaced = plant(`${type}: the secret after a change`);
      stage.vendors.accept(replaced);
      const changed = await stage.patch(id, { config: sampleConfig(type, 'entered', replaced) });
      expect(changed.status).toBe(200);
      made.at(-1)!.secrets = secretsOf(getConnector(type), sampleConfig(type, 'entered', replaced));

      // Puts secrets in the wrong places.
      const wrong = `${plant(`${type}: in the wrong place`)} "\\`;
      for (const name of Object.keys(config)) {
        expect((await stage.patch(id, { config: { [name]: { value: wrong } } })).status).toBe(422);
        expect((await stage.patch(id, { config: { [name]: `${wrong}\u0000` } })).status).toBe(422);
      }
      expect((await stage.patch(id, { config: { colour: wrong } })).status).toBe(422);
      expect((await stage.patch(id, { config: wrong })).status).toBe(422);
      expect((await stage.patch(id, { eventTypes: [wrong], isActive: wrong })).status).toBe(422);
      for (const bad of [
        { ...body, type: wrong },
        { ...body, config: [wrong] },
        { ...body, eventTypes: wrong },
      ]) {
        expect((await stage.user.rest('POST', `${stage.base}/connectors`, bad)).status).toBe(422);
      }
      for (const bad of [
        { ...input, type: wrong, config },
        { ...input, eventTypes: [wrong], config },
        { ...input, projectId: { wrong }, config },
        { ...input, config, isActive: wrong },
        { ...input, config: { colour: wrong } },
      ]) {
        expect((await callGraphQL(CREATE, { input: bad })).errors).toBeDefined();
      }
      const literal = JSON.stringify(wrong);
      for (const query of [
        `mutation { createConnector(input: { projectId: ${literal}, type: SLACK, config: {}, eventTypes: [ALL] }) { connector { id } } }`,
        `mutation { createConnector(input: { projectId: "x", type: ${literal}, config: {}, eventTypes: [ALL] }) { connector { id } } }`,
        `mutation { updateConnector(input: { id: ${JSON.stringify(id)}, config: { colour: ${literal} } }) { connector { id } } }`,
        `mutation { updateConnector(input: { id: 7, isActive: ${literal} }) { connector { id } } }`,
        `{ node(id: ${literal}) { id } }`,
      ]) {
        const { errors, data } = await callGraphQL(query, {});
        expect(errors ?? data).toBeTruthy();
      }
      await stage.user.rest('GET', path);
    },
  );

  test('as signing secrets and API keys: created, used, rotated, and rejected', async () => {
    const { user, base } = stage;
    const headers = { 'idempotency-key': 'webhook-1' };
    const hook = { url: `${receiver.url}/hook`, eventTypes: ['*'] };
    for (const number of [1, 2]) {
      const webhook = await user.rest<{ id: string; secret: string }>(
        'POST',
        `${base}/webhooks`,
        hook,
        number === 1 ? headers : {},
      );
      watch(`signing secret ${number}`, webhook.body.secret);
      const rotated = await user.rest<{ secret: string }>(
        'POST',
        `${base}/webhooks/${webhook.body.id}/rotate-secret`,
        {},
      );
      watch(`signing secret ${number} after a change`, rotated.body.secret);
      await user.rest('GET', `${base}/webhooks/${webhook.body.id}`);
    }
    await user.rest('POST', `${base}/webhooks`, hook, headers);
    await user.rest('GET', `${base}/webhooks`);
    for (const environment of ['LIVE', 'TEST']) {
      const key = await user.rest<{ id: string; key: string }>('POST', `${base}/keys`, { name: 'CI', environment });
      watch(`API key, ${environment}`, key.body.key);
      const caller = stage.app.caller(key.body.key);
      expect((await caller.rest('GET', '/api/projects')).status).toBe(200);
      // Some clients put the key into the path by mistake.
      expect((await caller.rest('GET', `/api/projects/${key.body.key}/endpoints`)).status).toBe(404);
      expect((await caller.rest('GET', `/${key.body.key}`)).status).toBe(404);
      expect((await caller.rest('POST', `${base}/keys`, { name: key.body.key.slice(0, 3) })).status).toBe(403);
      await user.rest('GET', `${base}/keys/${key.body.id}`);
      await user.rest('DELETE', `${base}/keys/${key.body.id}`);
      expect((await caller.rest('GET', '/api/projects')).status).toBe(401);
    }
    await user.rest('GET', `${base}/keys`);
    const notOurs = plant('someone else’s credential');
    for (const credential of [notOurs, `tg_live_${notOurs}`, `${notOurs}.${notOurs}.${notOurs}`]) {
      expect((await stage.app.caller(credential).rest('GET', `/api/projects?limit=${notOurs}`)).status).toBe(401);
    }
    expect((await user.rest('GET', `/api/projects?limit=${notOurs}`)).status).toBe(422);
    expect((await user.rest('GET', `/api/projects?after=${notOurs}`)).status).toBe(422);
  });
});

const careless = createCarelessVendor((call, body) =>
  outside.push({ where: `a response from ${call.url.host}`, text: body }),
);

/** Waits until no delivery is due or in progress, except those that wait because a vendor blocks this address. */
async function settled(): Promise<void> {
  const isUnblocked = { OR: [{ reason: null }, { reason: { not: 'address_blocked' } }] };
  const due = { status: 'PENDING', nextAttemptAt: { not: null }, ...isUnblocked } as const;
  const open = async () => {
    // Makes all retries due now, as a manual resend does, because automatic retries to a failing vendor become less and
    // less frequent, and some types have their own long delays. Makes the deliveries older than any retry schedule, so
    // that a 429 counts as a failure.
    const created = new Date(Date.now() - 4 * 86_400_000);
    const resent = { trigger: 'MANUAL', nextAttemptAt: new Date(), createdAt: created } as const;
    await stage.db.prisma.delivery.updateMany({ where: { ...due, trigger: 'SCHEDULED' }, data: resent });
    return stage.db.prisma.delivery.count({ where: { OR: [{ status: 'RUNNING' }, due] } });
  };
  await expect.poll(open, { interval: 25 }).toBe(0);
}

/** Tests every connector, with a probe or a test event. */
async function testAll(): Promise<void> {
  await Promise.all(made.map(({ id }) => stage.user.rest('POST', `${stage.base}/connectors/${id}/test`, {})));
  await settled();
}

/**
 * Enables all connectors and webhooks again, no matter what state the vendors' responses left them in, and ends blocks
 * of this address.
 */
async function revive(): Promise<void> {
  await stage.db.prisma.$executeRaw`UPDATE "RateLimit" SET "arrivesAt" = now() WHERE "key" LIKE 'delivery-block:%'`;
  const data = { isActive: true, pausedAt: null, pausedReason: null, disabledReason: null, memory: {} };
  await stage.db.prisma.connector.updateMany({ data });
  await stage.db.prisma.webhook.updateMany({ data: { isActive: true } });
  await stage.db.prisma.delivery.updateMany({
    where: { status: 'PENDING' },
    data: { status: 'FAILED', nextAttemptAt: null },
  });
}

describe('vendors repeat what they were sent', () => {
  test.each([200, 400, 401, 404, 429, 500])('with the status %i', async (statusCode) => {
    for (const type of CONNECTOR_TYPES) stage.vendors.interfere(type, careless(statusCode));
    const data = { date: `2026-03-${String((statusCode % 28) + 1).padStart(2, '0')}` };
    const ago = { secondsAgo: 600, isHeldBack: true };
    await stage.record('payment.failed', {}, ago);
    await stage.record('customer.milestone', {}, ago);
    await stage.record('revenue.daily_summary', data, ago);
    await stage.makeDue();
    await settled();
    await testAll();
    const [project] = [stage.projectId];
    const history = `query ($project: ID!) { project(id: $project) {
      connectors(first: 50) { nodes { id config disabledReason pausedReason } }
      deliveries(first: 100) { nodes { id reason attempts(last: 5) { errorMessage responseBody } } } } }`;
    expect((await callGraphQL(history, { project })).errors).toBeUndefined();
    await stage.user.rest('GET', `${stage.base}/connectors`);
    await revive();
    for (const type of CONNECTOR_TYPES) stage.vendors.interfere(type, undefined);
  });

  test.each([400, 500, 200])('as token endpoints, with the status %i', async (statusCode) => {
    stage.vendors.issueTokens(() => {
      const { plain, all } = repeat(stage.vendors.tokenCalls().at(-1)!);
      const token = { access_token: `token-of-${statusCode}`, token_type: 'Bearer', expires_in: 3_600 };
      const body = { ...(statusCode === 200 && token), error: plain, error_description: plain, more: all };
      outside.push({ where: 'a response from a token endpoint', text: JSON.stringify(body) });
      return { statusCode, headers: { 'x-echo': encodeURIComponent(plain) }, body: JSON.stringify(body) };
    });
    stage.vendors.accept(`token-of-${statusCode}`);
    await stage.db.prisma.connectorToken.deleteMany();
    await stage.record('payment.failed', {}, { secondsAgo: 600 });
    await stage.record('revenue.daily_summary', { date: `2026-04-${statusCode / 20 + 1}` }, { secondsAgo: 600 });
    await settled();
    await testAll();
    await revive();
  });

  test('and redirect, drop the connection, and respond with invalid HTTP', async () => {
    const chaos: Interference[] = [
      careless(302),
      (call, response) =>
        void response.socket?.end(`HTTP/1.1 ${call.url.href} ${JSON.stringify(call.headers)}\r\n\r\n`) as undefined,
      (_call, response) => void response.destroy() as undefined,
    ];
    for (const interference of chaos) {
      for (const type of CONNECTOR_TYPES) stage.vendors.interfere(type, interference);
      await stage.record('payment.failed', {}, { secondsAgo: 600 });
      await stage.record('customer.milestone', {}, { secondsAgo: 600 });
      await settled();
      await testAll();
      await revive();
    }
    for (const type of CONNECTOR_TYPES) stage.vendors.interfere(type, undefined);
  });

  test('and clients read each delivery with its attempts', async () => {
    expect(await stage.db.prisma.delivery.count({ where: { attempts: { some: {} } } })).toBeGreaterThan(250);
    const deliveries = await stage.db.prisma.delivery.findMany({
      take: 60,
      select: { id: true },
      where: { attempts: { some: {} } },
    });
    for (let start = 0; start < deliveries.length; start += 20) {
      await Promise.all(deliveries.slice(start, start + 20).map(({ id }) => stage.delivery(id)));
    }
  });
});

describe('after secrets were used in every place', () => {
  test('the secret keys are rotated', async () => {
    const keyring = parseKeyring([...masterKeys].reverse().join());
    const lines = pino(
      { level: 'trace' },
      { write: (text) => void logLines.push({ where: 'the log of the rotation', text }) },
    );
    const report = await rotateSecrets({ db: stage.db, keyring, secretBox: createSecretBox(keyring), log: lines });
    const withCredential = CONNECTOR_TYPES.filter((type) => getConnector(type).credential);
    const sealed = CONNECTOR_TYPES.length + withCredential.length + 4;
    expect(report).toMatchObject({ rotated: sealed, unreadable: [], remaining: 0 });
    logLines.push({ where: 'the report of the rotation', text: JSON.stringify(report) });
  });

  test('there are at least 100 secrets, and the search finds each one that was sent', () => {
    expect(canaries.length).toBeGreaterThanOrEqual(100);
    expect(new Set(canaries.map(({ core }) => core)).size).toBe(canaries.length);
    const isSent = (name: string) => name.endsWith('after a change') && !name.startsWith('signing');
    const sent = canaries.filter(({ name }) => isSent(name) && !SIGNING.some((type) => name.startsWith(`${type}:`)));
    expect(sent).toHaveLength(CONNECTOR_TYPES.length - SIGNING.length);
    const vendorCalls = CONNECTOR_TYPES.flatMap((type) => stage.vendors.callsTo(type));
    const calls = [...vendorCalls, ...stage.vendors.tokenCalls()].map((call) => ({
      where: 'calls',
      text: repeat(call).all,
    }));
    for (const place of [calls, outside]) {
      const found = new Set(findCanaries(sent, place).map((hit) => hit.split(' in ')[0]));
      expect(sent.map(({ name }) => name).filter((name) => !found.has(name))).toEqual([]);
    }
  });

  test('no secret is in the database', async () => {
    const dump = await dumpDatabase(stage.db.pool);
    expect(dump.length).toBeGreaterThan(500);
    expect(findCanaries(canaries, dump)).toEqual([]);
  });

  test('no secret is in the log, even at the most verbose level', () => {
    expect(logLines.length).toBeGreaterThan(1_000);
    expect(findCanaries(canaries, logLines)).toEqual([]);
  });

  test('no secret is in a response, except where it is shown once', () => {
    expect(answers.length).toBeGreaterThan(1_000);
    expect(
      findCanaries(
        canaries,
        answers.filter(({ showsOnce }) => !showsOnce),
      ),
    ).toEqual([]);
    const shown = findCanaries(
      canaries,
      answers.filter(({ showsOnce }) => showsOnce),
    ).map((hit) => hit.split(' in ')[0]);
    expect(shown.toSorted()).toEqual([
      'API key, LIVE',
      'API key, TEST',
      'signing secret 1',
      // The retry returns the secret again.
      'signing secret 1',
      'signing secret 1 after a change',
      'signing secret 2',
      'signing secret 2 after a change',
    ]);
  });

  test('no secret was sent over the WebSocket', async () => {
    await expect.poll(() => frames.length).toBeGreaterThan(200);
    expect(findCanaries(canaries, frames)).toEqual([]);
  });

  test('no secret is in the metrics', async () => {
    const metrics = await (await originalFetch(`${stage.app.url}/metrics`)).text();
    expect(metrics).toContain('tollgate_delivery_attempts_total');
    expect(findCanaries(canaries, [{ where: '/metrics', text: metrics }])).toEqual([]);
  });
});
