import { METHODS } from 'node:http';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { rawRequest } from '../gateway/sign.ts';
import { createShop, payingFetch, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { createTestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createWebhook } from '../support/resources.ts';

const DELIVERED = { kind: 'webhook', outcome: 'delivered' };

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let receiver: Receiver;
let delivered = 0;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  receiver = await startReceiver();
  app = await startTestApp({ env: rails.env });
});
afterAll(async () => {
  await app?.stop();
  await Promise.all([receiver?.close(), upstream?.close(), rails?.close()]);
});

/** Creates a shop, pays for a request, and waits until the payment and its deliveries are counted. */
async function sellOnce(owner: TestUser): Promise<void> {
  const before = metricValue(await readMetrics(app.url), 'tollgate_payment_step_duration_seconds_count');
  const shop = await createShop(app, owner, { '/weather': { upstreamUrl: upstream.url } });
  await createWebhook(owner, shop.base, { url: receiver.url, eventTypes: ['payment.verified', 'payment.settled'] });
  const pay = payingFetch(await rails.wallet());
  expect((await pay(`${shop.url}/weather`)).status).toBe(200);
  delivered += 2;
  await vi.waitFor(
    async () => {
      const metrics = await readMetrics(app.url);
      expect(metricValue(metrics, 'tollgate_delivery_attempts_total', DELIVERED)).toBe(delivered);
      expect(metricValue(metrics, 'tollgate_payment_step_duration_seconds_count')).toBe(before + 4);
    },
    { timeout: 60_000 },
  );
}

test.each(['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via'])(
  'the metrics are not served to clients behind a proxy, which adds the header %s',
  async (name) => {
    const statusOf = (path: string) =>
      fetch(app.url + path, { headers: { [name]: 'for=203.0.113.1' } }).then(({ status }) => status);
    expect(await statusOf('/metrics')).toBe(404);
    expect(await statusOf('/healthz')).toBe(200);
  },
);

describe('the metrics of a paid request', () => {
  let metrics: Awaited<ReturnType<typeof readMetrics>>;
  /** How long the sale has taken, including everything before and after the payment. */
  let saleSeconds: number;
  beforeAll(async () => {
    const startedAt = performance.now();
    await sellOnce(await app.user('alice'));
    saleSeconds = (performance.now() - startedAt) / 1000;
    metrics = await readMetrics(app.url);
  });

  test.each(['CLAIMED', 'VERIFIED', 'SETTLING', 'SETTLED'])('count it with the status %s', (status) => {
    expect(metricValue(metrics, 'tollgate_payments_total', { status, stage: '' })).toBe(1);
  });

  test.each(['claim', 'verify', 'upstream', 'settle'])('include the duration of %s', (step) => {
    expect(metricValue(metrics, 'tollgate_payment_step_duration_seconds_count', { step })).toBe(1);
  });

  test('include the calls to the facilitator, and the time until the payment was settled', () => {
    const name = 'tollgate_facilitator_request_duration_seconds_count';
    expect(metricValue(metrics, name, { operation: 'verify', outcome: 'valid' })).toBe(1);
    expect(metricValue(metrics, name, { operation: 'settle', outcome: 'settled' })).toBe(1);
    expect(metricValue(metrics, 'tollgate_payment_settlement_duration_seconds_count')).toBe(1);
    const secondsToSettle = metricValue(metrics, 'tollgate_payment_settlement_duration_seconds_sum');
    expect(secondsToSettle).toBeGreaterThan(0);
    expect(secondsToSettle).toBeLessThan(saleSeconds);
  });

  test('include the deliveries of its events', () => {
    expect(metricValue(metrics, 'tollgate_delivery_attempt_duration_seconds_count', { kind: 'webhook' })).toBe(2);
    expect(metricValue(metrics, 'tollgate_delivery_results_total', { kind: 'webhook', status: 'SUCCEEDED' })).toBe(2);
    expect(metricValue(metrics, 'tollgate_delivery_claim_duration_seconds_count')).toBeGreaterThan(0);
  });

  test('use the route of the request, not its path', () => {
    const name = 'tollgate_http_request_duration_seconds_count';
    const route = '/gateway/:projectId/*';
    expect(metricValue(metrics, name, { method: 'GET', route, status: '402' })).toBe(1);
    expect(metricValue(metrics, name, { method: 'GET', route, status: '200' })).toBe(1);
  });
});

test('operations are counted by type and outcome, and their errors by code, including over REST', async () => {
  const owner = await app.user('bob');
  const before = await readMetrics(app.url);
  await owner.graphql('{ projects(first: 1) { nodes { id } } }');
  await owner.graphql('{ projects(after: "nowhere") { nodes { id } } }');
  await owner.rest('POST', '/api/projects', { name: 'Shop', walletAddress: '0x1' });
  const after = await readMetrics(app.url);
  const grown = (name: string, labels: Record<string, string>) =>
    metricValue(after, name, labels) - metricValue(before, name, labels);
  const operations = 'tollgate_graphql_operation_duration_seconds_count';
  expect(grown(operations, { type: 'query', outcome: 'ok' })).toBe(1);
  expect(grown(operations, { type: 'query', outcome: 'error' })).toBe(1);
  expect(grown(operations, { type: 'mutation', outcome: 'error' })).toBe(1);
  expect(grown('tollgate_graphql_errors_total', { code: 'VALIDATION_FAILED' })).toBe(2);
  expect(grown('tollgate_graphql_errors_total', { code: 'INTERNAL' })).toBe(0);
});

test('a payment that fails because the facilitator is down is counted by its stage', async () => {
  const shop = await createShop(app, await app.user('carol'), { '/weather': { upstreamUrl: upstream.url } });
  const pay = payingFetch(await rails.wallet());
  await rails.facilitator.goDown();
  expect((await pay(`${shop.url}/weather`)).status).toBe(503);
  await rails.facilitator.comeUp();
  const metrics = await readMetrics(app.url);
  expect(metricValue(metrics, 'tollgate_payments_total', { status: 'FAILED', stage: 'VERIFY' })).toBe(1);
  const failed = { operation: 'verify', outcome: 'error' };
  expect(metricValue(metrics, 'tollgate_facilitator_request_duration_seconds_count', failed)).toBe(1);
});

test('another account adds no time series', async () => {
  const seriesOf = async () =>
    [...(await readMetrics(app.url)).values()]
      .flatMap(({ samples }) => samples)
      // Node's series depend on garbage collection and on the resources of the whole process.
      .filter(({ name }) => !name.startsWith('nodejs_'))
      .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
      .sort();
  await sellOnce(await app.user('dave'));
  const before = await seriesOf();
  await sellOnce(await app.user('erin'));
  expect(await seriesOf()).toEqual(before);
});

test('unusual methods add no time series, because anyone can send them', async () => {
  const labelsOf = async () =>
    (await readMetrics(app.url))
      .get('tollgate_http_request_duration_seconds')!
      .samples.filter(({ name }) => name.endsWith('_count'))
      .map(({ labels }) => `${labels.method} ${labels.route} ${labels.status}`);
  const methods = METHODS.filter((method) => !['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method));
  const unusual = methods.filter((method) => !['OPTIONS', 'CONNECT'].includes(method));
  for (const method of unusual) await sendRaw(app.url, [rawRequest(`${method} /nowhere`, 'Host: a')]);
  await expect.poll(labelsOf).toContain('_OTHER none 404');
  expect((await labelsOf()).filter((labels) => unusual.some((method) => labels.startsWith(`${method} `)))).toEqual([]);
});

test('unusual statuses add no time series, because sellers’ APIs choose them', async () => {
  const owner = await app.user('frank');
  const shop = await createShop(app, owner, { '/odd': { upstreamUrl: upstream.url, priceUsd: '0' } });
  const countOf = async (status: string) =>
    metricValue(await readMetrics(app.url), 'tollgate_http_request_duration_seconds_count', {
      method: 'GET',
      route: '/gateway/:projectId/*',
      status,
    });
  const before = await countOf('200');
  for (const statusCode of [200, 231, 299, 418, 467, 520, 599]) {
    upstream.respondNext({ statusCode });
    expect((await fetch(`${shop.url}/odd`)).status).toBe(statusCode);
  }
  await expect.poll(() => countOf('5xx')).toBe(2);
  expect(await countOf('2xx')).toBe(2);
  expect(await countOf('4xx')).toBe(2);
  expect(await countOf('200')).toBe(before + 1);
  expect(await countOf('231')).toBe(0);
});

describe('several services, one after another in the same process', () => {
  let pool: pg.Pool;
  const create = () => createMetrics({ pool, log: pino({ level: 'silent' }) });
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: `postgres://127.0.0.1:${await freePort()}/none` });
  });
  afterAll(() => pool?.end());

  test('closed metrics hold no references, so that a stopped service can be garbage-collected', async () => {
    const metrics = create();
    expect(String(await metrics.read())).toContain('tollgate_build_info');
    metrics.close();
    expect(String(await metrics.read())).not.toContain('tollgate_');
  });

  test('scrapes at the same time share one result, because anyone in the network can scrape', async () => {
    const metrics = create();
    const [one, other] = await Promise.all([metrics.read(), metrics.read()]);
    expect(one).toBe(other);
    expect(await metrics.read()).not.toBe(one);
    metrics.close();
  });

  test('measure the process with the same timer', async () => {
    create().close();
    const startTimer = vi.spyOn(globalThis, 'setInterval');
    try {
      const metrics = create();
      expect(String(await metrics.read())).toContain('nodejs_eventloop_utilization_summary');
      expect(startTimer).not.toHaveBeenCalled();
      metrics.close();
    } finally {
      startTimer.mockRestore();
    }
  });
});

test('without the database, a process still reports its own metrics', async () => {
  const database = await createTestDatabase();
  const direct = new URL(database.url);
  const proxy = await startCuttableProxy(`http://${direct.host}`);
  direct.host = new URL(proxy.url).host;
  const alone = await startTestApp({ databaseUrl: direct.href });
  try {
    expect(metricValue(await readMetrics(alone.url), 'tollgate_database_up')).toBe(1);
    proxy.cut();
    const metrics = await readMetrics(alone.url);
    expect(metricValue(metrics, 'tollgate_database_up')).toBe(0);
    expect(metrics.has('tollgate_deliveries')).toBe(false);
    expect(metricValue(metrics, 'tollgate_build_info')).toBe(1);
    proxy.mend();
    await expect.poll(async () => metricValue(await readMetrics(alone.url), 'tollgate_database_up')).toBe(1);
  } finally {
    proxy.mend();
    await alone.stop();
    await proxy.close();
    await database.drop();
  }
});
