import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { operatorsEnv, userIdOf } from '../support/operator.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-processes.ts';
import { sign, v2Headers } from './sign.ts';
import { createShop, payingFetch, type Rails, startRails } from './support.ts';

let rails: Rails;
let app: TestApp;
/** A gateway in another process. */
let gateway: GatewayProcess;
let upstream: Receiver;
let database: pg.Client;
let olga: TestUser;
let sellers = 0;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  const port = await freePort();
  // With a public URL, the gateway repeats 402 responses from memory.
  const address = { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` };
  app = await startTestApp({ env: { ...rails.env, ...operatorsEnv('olga'), ...address } });
  gateway = await startGatewayProcess(app, rails);
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  olga = await app.user('olga');
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'sunny' }));
});
afterAll(async () => {
  await database?.end();
  await gateway?.end('SIGTERM');
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function newShop() {
  sellers += 1;
  const owner = await app.user(`seller-${sellers}`);
  const shop = await createShop(app, owner, {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/stream': { upstreamUrl: `${upstream.url}/stream`, settlement: 'BEFORE_REQUEST' },
    '/free': { upstreamUrl: `${upstream.url}/free`, priceUsd: '0' },
  });
  const id = await userIdOf(owner);
  const set = async (action: 'block' | 'unblock') => {
    const body = action === 'block' ? { reason: 'Complaints from buyers.' } : undefined;
    const { status } = await olga.rest('POST', `/api/operator/users/${id}/${action}`, body);
    expect(status).toBe(200);
  };
  const here = `/gateway/${shop.projectId}`;
  return {
    owner,
    set,
    projectId: shop.projectId,
    urls: [app.url + here, gateway.url + here],
    statuses: (path: string) =>
      Promise.all([app.url, gateway.url].map(async (url) => (await fetch(url + here + path)).status)),
  };
}

const statusesOfPayments = async (projectId: string) =>
  (await database.query('SELECT status FROM "Payment" WHERE "projectId" = $1', [projectId])).rows.map(
    ({ status }) => status,
  );

test('a blocked seller’s endpoints return 503 in every process, charge nothing, and work again once the seller is unblocked', async () => {
  const { set, statuses, urls, projectId } = await newShop();
  const buyer = await rails.wallet(50_000n);
  // Now every process has the terms in memory.
  for (let index = 0; index < 3; index++) expect(await statuses('/weather')).toEqual([402, 402]);
  expect(await statuses('/free')).toEqual([200, 200]);
  expect(await statuses('/openapi.json')).toEqual([200, 200]);
  await set('block');
  await expect.poll(() => statuses('/weather')).toEqual([503, 503]);
  expect(await statuses('/stream')).toEqual([503, 503]);
  expect(await statuses('/free')).toEqual([503, 503]);
  await expect.poll(() => statuses('/openapi.json')).toEqual([404, 404]);

  upstream.requests.length = 0;
  for (const url of urls) {
    for (const path of ['/weather', '/stream', '/free']) {
      const response = await fetch(url + path, { headers: v2Headers(await sign(buyer)) });
      expect([path, response.status, await response.json()]).toMatchObject([
        ...[path, 503],
        { code: 'UNAVAILABLE', detail: 'This API is not available at the moment. Nothing was charged.' },
      ]);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(response.headers.get('payment-required')).toBeNull();
    }
  }
  expect(await rails.chain.balanceOf(buyer.address)).toBe(50_000n);
  expect(await statusesOfPayments(projectId)).toEqual([]);
  expect(upstream.requests).toEqual([]);

  await set('unblock');
  await expect.poll(() => statuses('/weather')).toEqual([402, 402]);
  for (const url of urls) {
    const response = await payingFetch(buyer)(`${url}/weather`);
    expect([response.status, await response.text()]).toEqual([200, 'sunny']);
  }
  expect(await rails.chain.balanceOf(buyer.address)).toBe(30_000n);
});

test('a payment in progress when its seller is blocked is settled, the buyer gets the response, and the event is recorded', async () => {
  const { set, statuses, urls, owner, projectId } = await newShop();
  const buyer = await rails.wallet(10_000n);
  const { promise, resolve } = Promise.withResolvers<{ body: string }>();
  upstream.handle(() => promise);
  const answered = payingFetch(buyer)(`${urls[1]}/weather`);
  await upstream.waitFor(1);
  await set('block');
  await expect.poll(() => statuses('/weather')).toEqual([503, 503]);
  resolve({ body: 'just in time' });
  const response = await answered;
  expect([response.status, await response.text()]).toEqual([200, 'just in time']);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  expect(await statusesOfPayments(projectId)).toEqual(['SETTLED']);
  await set('unblock');
  const { body } = await owner.rest<{ data: { type: string }[] }>('GET', `/api/projects/${projectId}/events`);
  expect(body.data.map(({ type }) => type)).toContain('payment.settled');
});

test('a buyer who paid before the block still gets the response with the same payment, and pays once', async () => {
  const { set, statuses, urls } = await newShop();
  const buyer = await rails.wallet(50_000n);
  const headers = v2Headers(await sign(buyer));
  expect((await fetch(`${urls[0]}/weather`, { headers })).status).toBe(200);
  // The upstream fails after the charge. The buyer can send the payment again to be served.
  upstream.respondNext({ statusCode: 302, headers: { location: 'ftp://nowhere' } });
  const prepaid = v2Headers(await sign(buyer));
  const failed = await fetch(`${urls[0]}/stream`, { headers: prepaid });
  expect(failed.status).toBe(502);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(30_000n);
  await set('block');
  await expect.poll(() => statuses('/weather')).toEqual([503, 503]);

  const repeated = await fetch(`${urls[0]}/weather`, { headers });
  expect([repeated.status, await repeated.text()]).toEqual([200, 'sunny']);
  const served = await fetch(`${urls[0]}/stream`, { headers: prepaid });
  expect([served.status, await served.text()]).toEqual([200, 'sunny']);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(30_000n);
});
