import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  type Resource,
} from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

const WALLET = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const LIVE_COPY = { name: 'Shop, live', walletAddress: WALLET, mode: 'LIVE' };
const DOMAIN = 'sells.dev';
const RESEND = { apiKey: 're_secret_of_the_test_project', from: 'shop@example.com', to: 'owner@example.com' };

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;
let source: Resource & { base: string };

beforeAll(async () => {
  app = await startTestApp({ env: { NETWORKS: 'base,polygon,base-sepolia', GATEWAY_DOMAIN: DOMAIN } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  source = await createProject(alice, { mode: 'TEST', milestonesUsd: ['7', '70'], timeZone: 'Asia/Kathmandu' });
});

type List<T = Resource> = { data: T[] };
const listOf = async (base: string, name: string) =>
  (await alice.rest<List>('GET', `${base}/${name}`)).body.data.toReversed();

async function copied(fields: object = {}): Promise<Resource & { base: string }> {
  const { status, body } = await rest.send<Resource>(alice, 'POST', `${source.base}/copy`, {
    body: { ...LIVE_COPY, ...fields },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return { ...body, base: `/api/projects/${body.id}` };
}

describe('a live copy of a test project', () => {
  test('has its own mode, wallet, and networks, and the milestones, time zone, and buyer rules of the original', async () => {
    await alice.rest('PATCH', `${source.base}/buyer-rules`, { deniedWallets: [WALLET], maxRequests: 5 });
    const copy = await copied({ networks: ['polygon'] });
    expect(copy).toMatchObject({
      ...LIVE_COPY,
      networks: ['eip155:137'],
      milestonesUsd: ['7', '70'],
      timeZone: 'Asia/Kathmandu',
      gatewayHost: null,
    });
    const { rows } = await pool.query('SELECT "from", "to" FROM "SummaryPeriod" WHERE "projectId" = $1', [copy.id]);
    expect(rows[0].to - rows[0].from).toBe(86_400_000);
    expect(rows[0].from.toISOString()).toContain('T18:15:00.000Z');
    expect((await alice.rest('GET', source.base)).body).toMatchObject({ mode: 'TEST', name: source.name });
    const rules = { deniedWallets: [WALLET], maxRequests: 5 };
    expect((await alice.rest('GET', `${copy.base}/buyer-rules`)).body).toMatchObject(rules);
  });

  test('has the same endpoints, which sell for real money immediately', async () => {
    const fields = { path: '/quotes/:symbol', upstreamUrl: 'https://api.example.com/q/:symbol', priceUsd: '0.25' };
    await createEndpoint(alice, source.base, { ...fields, description: 'Quotes', forwardedHeaders: ['x-trace'] });
    const off = await createEndpoint(alice, source.base, { path: '/off' });
    await alice.rest('PATCH', `${source.base}/endpoints/${off.id}`, { isActive: false });

    const copy = await copied();
    const [originals, copies] = [await listOf(source.base, 'endpoints'), await listOf(copy.base, 'endpoints')];
    const own = ({ id: _id, projectId: _project, createdAt: _created, updatedAt: _updated, ...rest }: Resource) => rest;
    expect(copies.map(own)).toEqual(originals.map(own));
    expect(copies.map(({ projectId }) => projectId)).toEqual([copy.id, copy.id]);
    expect((await fetch(`${app.url}/gateway/${copy.id}/quotes/ETH`)).status).toBe(402);
    expect((await fetch(`${app.url}/gateway/${copy.id}/off`)).status).toBe(404);
  });

  test('disables endpoints that need upstream headers, because their values may be secret', async () => {
    const { id } = await createEndpoint(alice, source.base, { path: '/keyed' });
    await pool.query(
      `UPDATE "Endpoint" SET "upstreamHeaders" = '[]', "secretUpstreamHeaders" = 'sealed' WHERE "id" = $1`,
      [id],
    );
    const copy = await copied();
    expect(await listOf(copy.base, 'endpoints')).toMatchObject([{ path: '/keyed', isActive: false }]);
    const { rows } = await pool.query('SELECT * FROM "Endpoint" WHERE "projectId" = $1', [copy.id]);
    expect(rows).toMatchObject([{ upstreamHeaders: null, secretUpstreamHeaders: null }]);
  });

  test("has its own name under the operator's domain immediately", async () => {
    const copy = await copied({ name: 'Weather!' });
    expect(copy).toMatchObject({ slug: 'weather', defaultHost: `weather.${DOMAIN}` });
    const another = await copied({ name: 'Weather!' });
    expect(another.slug).toMatch(/^weather-[a-z0-9]{5}$/);
    expect(await listOf(copy.base, 'audit-log')).toMatchObject([{ changes: { slug: 'weather' } }]);
  });

  test('keeps endpoints closed if their private upstream is open only to the original', async () => {
    const { id } = await createEndpoint(alice, source.base, { path: '/private' });
    // As if the operator had opened the address to this project.
    await pool.query(`UPDATE "Endpoint" SET "upstreamUrl" = 'http://10.0.0.7:8080/v1' WHERE "id" = $1`, [id]);
    const copy = await copied();
    expect(await listOf(copy.base, 'endpoints')).toMatchObject([{ path: '/private', isActive: false }]);
  });

  test('has the same webhooks, but disabled and with new signing secrets', async () => {
    const filter = { 'data.amountUsd': { gte: '1.00' } };
    const original = await createWebhook(alice, source.base, {
      url: 'https://hooks.example.com/in',
      eventTypes: ['payment.settled'],
      filter,
      maxPerSecond: 2,
      name: 'Books',
      headers: [{ name: 'X-Key', value: 'secret of the test project' }],
    });
    const copy = await copied();
    const [webhook] = await listOf(copy.base, 'webhooks');
    expect(webhook).toMatchObject({
      name: 'Books',
      url: original.url,
      eventTypes: ['payment.settled'],
      filter,
      maxPerSecond: 2,
      isActive: false,
      isPaused: false,
      disabledReason: null,
      headers: [],
      authentication: null,
    });
    const rotated = await alice.rest<{ secret: string }>('POST', `${copy.base}/webhooks/${webhook!.id}/rotate-secret`);
    expect(rotated.body.secret).not.toBe(original.secret);
  });

  test('has its own upstream secret', async () => {
    const copy = await copied();
    await alice.rest('POST', `${source.base}/upstream-secret/rotate`);
    const secretOf = async (base: string) =>
      (await alice.rest<Record<string, string | null>>('GET', `${base}/upstream-secret`)).body;
    const own = await secretOf(copy.base);
    expect(own).toEqual({ upstreamSecret: expect.stringMatching(/^whsec_/), previousUpstreamSecretExpiresAt: null });
    expect(own.upstreamSecret).not.toBe((await secretOf(source.base)).upstreamSecret);
    const copyAfterwards = await secretOf((await copied()).base);
    expect(copyAfterwards.previousUpstreamSecretExpiresAt).toBeNull();
  });

  test('has the connectors without their secrets, which must be set before they can be enabled', async () => {
    await createConnector(alice, source.base, {
      type: 'resend',
      config: RESEND,
      eventTypes: ['payment.settled'],
      name: 'Receipts',
    });
    const copy = await copied();
    const [connector] = await listOf(copy.base, 'connectors');
    const { from, to } = RESEND;
    expect(connector).toMatchObject({ type: 'resend', name: 'Receipts', isActive: false });
    expect(connector!.eventTypes).toEqual(['payment.settled']);
    expect(connector!.config).toMatchObject({ from });
    expect(connector!.config).not.toHaveProperty('apiKey');

    const path = `${copy.base}/connectors/${connector!.id}`;
    const refusal = { status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/config/apiKey' }] } };
    expect(await rest.send(alice, 'PATCH', path, { body: { isActive: true } })).toMatchObject(refusal);
    expect(await rest.send(alice, 'POST', `${path}/test`)).toMatchObject(refusal);
    expect(await rest.send(alice, 'PATCH', path, { body: { config: { to } } })).toMatchObject(refusal);

    const body = { isActive: true, config: { apiKey: 're_secret_of_the_live_project' } };
    const enabled = await rest.send(alice, 'PATCH', path, { body });
    expect(enabled).toMatchObject({ status: 200, body: { isActive: true, config: { from, apiKey: '••••ject' } } });
  });

  test("has none of the original's API keys or history", async () => {
    await createEndpoint(alice, source.base);
    const { key } = await createKey(alice, source.base);
    const copy = await copied();
    expect(await listOf(copy.base, 'keys')).toEqual([]);
    expect((await app.caller(key).rest('GET', copy.base)).status).toBe(404);
    expect(await listOf(copy.base, 'deliveries')).toEqual([]);
  });

  test('records its endpoints as events, and everything in the audit log', async () => {
    const { path } = await createEndpoint(alice, source.base);
    await createWebhook(alice, source.base);
    await createConnector(alice, source.base);
    const copy = await copied();
    expect(await listOf(copy.base, 'events')).toMatchObject([{ type: 'endpoint.created', data: { path } }]);
    const log = await listOf(copy.base, 'audit-log');
    expect(log.map(({ action }) => action)).toEqual([
      ...['project.created', 'endpoint.created', 'webhook.created', 'connector.created'],
    ]);
    expect(log[0]).toMatchObject({ changes: { mode: 'LIVE', copiedFrom: source.id, walletAddress: WALLET } });
  });
});

describe('copying a project', () => {
  test.each([
    ['for an invalid wallet', { walletAddress: '0x1234' }, '/walletAddress'],
    ['for a network of another mode', { networks: ['base-sepolia'] }, '/networks/0'],
    ['without a name', { name: ' ' }, '/name'],
  ])('is rejected %s, and leaves nothing behind', async (_reason, fields, pointer) => {
    const before = await alice.rest<List>('GET', '/api/projects?limit=100');
    const response = await rest.send(alice, 'POST', `${source.base}/copy`, { body: { ...LIVE_COPY, ...fields } });
    expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
    expect((await alice.rest<List>('GET', '/api/projects?limit=100')).body).toEqual(before.body);
  });

  test('is rejected for API keys and for other users', async () => {
    const { key } = await createKey(alice, source.base);
    const asKey = await app.caller(key).rest('POST', `${source.base}/copy`, LIVE_COPY);
    expect(asKey).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const bob = await app.user('bob');
    expect(await bob.rest('POST', `${source.base}/copy`, LIVE_COPY)).toMatchObject({ status: 404 });
  });

  test('is rejected if the copy would have more webhooks than the tier of the account includes', async () => {
    const dave = await app.user('dave', 'PRO');
    const { base } = await createProject(dave, { mode: 'TEST' });
    for (let count = 0; count < 11; count++) await createWebhook(dave, base);
    const downgraded = await app.user('dave', 'STARTER');
    const response = await rest.send(downgraded, 'POST', `${base}/copy`, { body: LIVE_COPY });
    expect(response).toMatchObject({ status: 403, body: { code: 'WEBHOOK_LIMIT_REACHED' } });
    expect(response.body).toMatchObject({ detail: expect.stringContaining('the copy would have more') });
    expect((await dave.rest<List>('GET', '/api/projects')).body.data).toHaveLength(1);
  });

  test('is rejected if the account would have more connectors than its tier includes', async () => {
    const carol = await app.user('carol', 'PRO');
    const { base } = await createProject(carol, { mode: 'TEST' });
    for (let count = 0; count < 3; count++) await createConnector(carol, base);
    const response = await rest.send(carol, 'POST', `${base}/copy`, { body: LIVE_COPY });
    expect(response).toMatchObject({ status: 403, body: { code: 'CONNECTOR_LIMIT_REACHED' } });
    expect(response.body).toMatchObject({ detail: expect.stringContaining('room for only 2 more') });
    expect((await carol.rest<List>('GET', '/api/projects')).body.data).toHaveLength(1);
  });
});

test('a copy counts as one request for the project, and one for each resource that is copied', async () => {
  const owner = await app.user('copier', 'PRO');
  const { base, id } = await createProject(owner, { mode: 'TEST' });
  for (let count = 0; count < 30; count++) await createEndpoint(owner, base);
  await createWebhook(owner, base);
  // A limit so low that it doesn't refill during the test.
  const limited = app.caller(await app.issuer.sign({ subject: 'copier', tier: 'ENTERPRISE', requestsPerMinute: 100 }));
  const remaining = ({ headers }: { headers: Headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1]);
  const before = remaining(await limited.rest('GET', base));
  const copy = await limited.rest('POST', `${base}/copy`, LIVE_COPY);
  expect(copy.status).toBe(200);
  expect(before - remaining(copy)).toBeGreaterThanOrEqual(28);
  const mutation = 'mutation ($input: CopyProjectInput!) { copyProject(input: $input) { project { id } } }';
  const send = () =>
    fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${limited.token}` },
      body: JSON.stringify({ query: mutation, variables: { input: { projectId: id, ...LIVE_COPY } } }),
    });
  expect(remaining(await send())).toBeLessThan(before - 56);
  expect((await Promise.all([send(), send()])).map(({ status }) => status)).toContain(429);
});

test('creating a project does not wait while another one is being copied', async () => {
  await createWebhook(alice, source.base);
  await createConnector(alice, source.base);
  const blocker = await pool.connect();
  await blocker.query('BEGIN');
  // Prevents the copy from writing its webhook.
  await blocker.query('LOCK TABLE "Webhook" IN SHARE MODE');
  const copying = copied({ name: 'Slow' });
  const waiting = `SELECT count(*)::int AS "count" FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await pool.query(waiting)).rows[0].count).toBe(1);
  const bob = await app.user('quick-bob', 'ENTERPRISE');
  for (const user of [alice, bob]) expect((await createProject(user, { name: 'Slow' })).slug).toBeTruthy();
  await blocker.query('ROLLBACK');
  blocker.release();
  expect((await copying).slug).toMatch(/^slow-[a-z0-9]{5}$/);
});
