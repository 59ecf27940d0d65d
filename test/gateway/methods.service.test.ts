import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { sign, v2Headers } from './sign.ts';
import { createShop, decodeHeader, payingFetch, type Rails, startRails } from './support.ts';

const ALL = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let alice: TestUser;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  // Terms are remembered only if the service knows its public URL.
  const port = await freePort();
  app = await startTestApp({
    env: { ...rails.env, PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` },
  });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/usual': { upstreamUrl: `${upstream.url}/usual` },
    '/items/:id': { upstreamUrl: `${upstream.url}/read`, methods: ['GET'] },
    '/items/*': { upstreamUrl: `${upstream.url}/rest`, methods: ALL },
  });
  await add({
    path: '/items/:item',
    upstreamUrl: `${upstream.url}/write`,
    priceUsd: '0.5',
    methods: ['PUT', 'DELETE'],
  });
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const add = (fields: object) =>
  alice.rest<{ id: string }>('POST', `${shop.base}/endpoints`, { priceUsd: '0.01', ...fields });
const payments = async () => (await database.query('SELECT FROM "Payment"')).rowCount;
const amountOf = (response: Response) =>
  decodeHeader<{ accepts: { amount: string }[] }>(response.headers.get('payment-required')).accepts[0]!.amount;

describe("a method that a path's endpoints don't serve", () => {
  test.each([
    ['PUT', '/usual', 'GET, HEAD, POST, OPTIONS'],
    ['HEAD', '/items/7', 'GET, PUT, DELETE, OPTIONS'],
    ['POST', '/items/7', 'GET, PUT, DELETE, OPTIONS'],
  ])('gets 405 with the methods in Allow: %s %s', async (method, path, allow) => {
    const response = await fetch(shop.url + path, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.has('payment-required')).toBe(false);
    if (method !== 'HEAD') expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
  });

  test('leaves a payment unused, so that it can pay for another request', async () => {
    const before = await payments();
    const headers = v2Headers(await sign(await rails.wallet()));
    expect((await fetch(`${shop.url}/usual`, { method: 'DELETE', headers })).status).toBe(405);
    expect(await payments()).toBe(before);
    expect(upstream.requests).toEqual([]);
    expect((await fetch(`${shop.url}/usual`, { headers })).status).toBe(200);
  });

  test('no longer counts disabled endpoints', async () => {
    const { body } = await add({ path: '/off', upstreamUrl: upstream.url, methods: ['GET', 'PUT'] });
    await add({ path: '/off', upstreamUrl: upstream.url, methods: ['POST'] });
    await alice.rest('PATCH', `${shop.base}/endpoints/${body.id}`, { isActive: false });
    await expect.poll(async () => (await fetch(`${shop.url}/off`)).headers.get('allow')).toBe('POST, OPTIONS');
  });

  test('is served as soon as an endpoint for it is created', async () => {
    await add({ path: '/grows', upstreamUrl: upstream.url, methods: ['GET'] });
    expect((await fetch(`${shop.url}/grows`, { method: 'PATCH' })).status).toBe(405);
    await add({ path: '/grows', upstreamUrl: upstream.url, methods: ['PATCH'] });
    expect((await fetch(`${shop.url}/grows`, { method: 'PATCH' })).status).toBe(402);
  });
});

test('a preflight allows every method, regardless of what the endpoint serves', async () => {
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };
  const response = await fetch(`${shop.url}/usual`, { method: 'OPTIONS', headers });
  expect([response.status, response.headers.get('access-control-allow-methods')]).toEqual([204, ALL.join(', ')]);
});

test('the stock client pays the price of the method', async () => {
  const buyer = await rails.wallet(1_000_000n);
  const pay = payingFetch(buyer);
  expect((await pay(`${shop.url}/items/7`)).status).toBe(200);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(990_000n);
  expect((await pay(`${shop.url}/items/7`, { method: 'PUT', body: 'new' })).status).toBe(200);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(490_000n);
  expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /read/7', 'PUT /write/7']);
  const { rows } = await database.query(
    'SELECT method, "endpointPath", "amountAtomic"::int FROM "Payment" WHERE payer = $1 ORDER BY id',
    [buyer.address.toLowerCase()],
  );
  expect(rows).toEqual([
    { method: 'GET', endpointPath: '/items/:id', amountAtomic: 10_000 },
    { method: 'PUT', endpointPath: '/items/:item', amountAtomic: 500_000 },
  ]);
});

test("a payment at one method's price doesn't pay for another method", async () => {
  const headers = v2Headers(await sign(await rails.wallet()));
  const response = await fetch(`${shop.url}/items/7`, { method: 'DELETE', headers });
  expect([response.status, amountOf(response)]).toEqual([402, '500000']);
  expect((await fetch(`${shop.url}/items/7`, { headers })).status).toBe(200);
});

test("remembered terms are never sent for another method's request", async () => {
  for (let round = 0; round < 3; round++) {
    expect(amountOf(await fetch(`${shop.url}/items/7`))).toBe('10000');
    expect(amountOf(await fetch(`${shop.url}/items/7`, { method: 'PUT' }))).toBe('500000');
    expect((await fetch(`${shop.url}/items/7`, { method: 'HEAD' })).status).toBe(405);
  }
});

test('an endpoint that was stored before methods could be chosen serves every method', async () => {
  const { body } = await add({ path: '/old', upstreamUrl: upstream.url });
  await database.query(`UPDATE "Endpoint" SET methods = DEFAULT WHERE id = $1`, [body.id]);
  const statuses = async () =>
    Promise.all(ALL.map(async (method) => (await fetch(`${shop.url}/old`, { method })).status));
  await expect.poll(statuses).toEqual(Array(6).fill(402));
});

test("a payment for GET isn't accepted for HEAD, so a retry of HEAD never reads the stored body of a GET response", async () => {
  upstream.respondNext({ body: 'long' }, { body: 'long' });
  const get = v2Headers(await sign(await rails.wallet()));
  expect(await (await fetch(`${shop.url}/usual`, { headers: get })).text()).toBe('long');
  const reused = await fetch(`${shop.url}/usual`, { method: 'HEAD', headers: get });
  expect([reused.status, reused.headers.has('payment-response')]).toEqual([409, false]);

  const head = v2Headers(await sign(await rails.wallet()));
  const once = await fetch(`${shop.url}/usual`, { method: 'HEAD', headers: head });
  const again = await fetch(`${shop.url}/usual`, { method: 'HEAD', headers: head });
  expect([once.status, again.status]).toEqual([200, 200]);
  expect(again.headers.get('payment-response')).toBe(once.headers.get('payment-response'));
  const { rows } = await database.query(
    `SELECT octet_length("body") AS bytes FROM "PaymentAnswer" WHERE "paymentId" = $1`,
    [again.headers.get('tollgate-payment-id')],
  );
  expect(rows).toEqual([{ bytes: 0 }]);
});
