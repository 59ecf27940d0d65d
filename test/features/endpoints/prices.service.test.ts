import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { MAX_TIMEOUT_SECONDS } from '../../../src/gateway/payment/terms.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, GOOD, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';
import { log } from '../payments/support.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let db: Database;
let shop: Resource & { base: string };

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice');
  db = await openDatabase({ url: app.databaseUrl, poolSize: 2, log });
  shop = await createProject(alice);
});
afterAll(async () => {
  await db?.close();
  await app?.stop();
});

const change = (id: string, body: object) => rest.send(alice, 'PATCH', `${shop.base}/endpoints/${id}`, { body });
const add = (fields: object) =>
  rest.send<Resource>(alice, 'POST', `${shop.base}/endpoints`, { body: { ...GOOD.endpoint, ...fields } });

describe('an earlier price', () => {
  const previous = (endpointId: string) =>
    db.prisma.previousPrice.findMany({ where: { endpointId }, orderBy: { validUntil: 'asc' } });
  const pricesOf = async (endpointId: string) =>
    (await previous(endpointId)).map(({ priceAtomic }) => Number(priceAtomic));

  test('is kept for as long as a payment at that price may arrive', async () => {
    const { id } = await createEndpoint(alice, shop.base, { priceUsd: '0.01' });
    expect(await previous(id)).toEqual([]);
    await change(id, { description: 'New', priceUsd: '0.01' });
    expect(await previous(id)).toEqual([]);

    const { rows: before } = await db.pool.query('SELECT now()');
    await change(id, { priceUsd: '0.02' });
    const { rows: after } = await db.pool.query('SELECT now()');
    const [kept] = await previous(id);
    expect(kept!.priceAtomic.toFixed(0)).toBe('10000');
    expect(kept!.validUntil.getTime()).toBeGreaterThanOrEqual(before[0].now.getTime() + MAX_TIMEOUT_SECONDS * 1000);
    expect(kept!.validUntil.getTime()).toBeLessThanOrEqual(after[0].now.getTime() + MAX_TIMEOUT_SECONDS * 1000 + 1);

    await change(id, { priceUsd: '0.03' });
    expect(await pricesOf(id)).toEqual([10_000, 20_000]);
  });

  test('counts as the newest if it is restored and replaced again', async () => {
    const { id } = await createEndpoint(alice, shop.base, { priceUsd: '0.01' });
    for (const priceUsd of ['0.02', '0.01', '0.03']) await change(id, { priceUsd });
    expect(await pricesOf(id)).toEqual([20_000, 10_000]);
  });

  test('is forgotten once it is no longer valid, or once ten newer ones are kept', async () => {
    const { id } = await createEndpoint(alice, shop.base, { priceUsd: '0.000001' });
    await change(id, { priceUsd: '0.000002' });
    await db.prisma.previousPrice.updateMany({ where: { endpointId: id }, data: { validUntil: new Date() } });
    await change(id, { priceUsd: '0.000003' });
    expect(await pricesOf(id)).toEqual([2]);
    for (let price = 4; price <= 14; price++) await change(id, { priceUsd: (price / 1e6).toFixed(6) });
    expect(await pricesOf(id)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  test('is kept, even if several requests change the price at the same time', async () => {
    const { id } = await createEndpoint(alice, shop.base, { priceUsd: '1' });
    await Promise.all(['2', '3', '4', '5'].map((priceUsd) => change(id, { priceUsd })));
    const events = await db.prisma.event.findMany({
      where: { projectId: shop.id, type: 'endpoint.pricing_changed' },
      orderBy: { id: 'asc' },
    });
    const changes = events
      .map(({ data }) => data as { endpointId: string; previousPriceUsd: string; priceUsd: string })
      .filter(({ endpointId }) => endpointId === id);
    const now = (await rest.send(alice, 'GET', `${shop.base}/endpoints/${id}`)).body.priceUsd;
    expect(changes).toHaveLength(4);
    const replaced = changes.map(({ previousPriceUsd }) => Number(previousPriceUsd)).sort();
    expect(replaced).toEqual([1, 2, 3, 4, 5].filter((price) => price !== Number(now)));
    expect((await pricesOf(id)).map((price) => price / 1e6).sort()).toEqual(replaced);
  });

  test.each([
    ['its path changes', { path: '/elsewhere' }],
    ['it gets another method', { methods: ['GET', 'POST'] }],
    ['it becomes an MCP server', { protocol: 'MCP' }],
  ])('is no longer valid if %s, because buyers haven’t been offered it there', async (_what, moved) => {
    const create = async () =>
      (await add({ path: `/moves-${Object.keys(moved)}`, priceUsd: '0.01', methods: ['GET'] })).body;
    const { id } = await create();
    await change(id, { priceUsd: '0.02' });
    expect(await pricesOf(id)).toEqual([10_000]);
    expect((await change(id, { ...moved, priceUsd: '5' })).status).toBe(200);
    expect(await pricesOf(id)).toEqual([]);
    await rest.send(alice, 'DELETE', `${shop.base}/endpoints/${id}`);

    const other = await create();
    await change(other.id, { priceUsd: '0.02' });
    await change(other.id, moved);
    expect(await pricesOf(other.id)).toEqual([]);
    await rest.send(alice, 'DELETE', `${shop.base}/endpoints/${other.id}`);
  });

  test.each([
    ['is deleted', 'DELETE', undefined],
    ['moves to another path', 'PATCH', (path: string) => ({ path: `/former${path}` })],
    ['loses a method', 'PATCH', () => ({ methods: ['POST'] })],
  ])(
    'is no longer valid if it is lower than that of an endpoint that %s, because buyers haven’t been offered it there',
    async (_what, method, changed) => {
      const { base } = await createProject(alice);
      const create = async (path: string, priceUsd: string) =>
        (await createEndpoint(alice, base, { path, priceUsd, methods: ['GET', 'POST'] })).id;
      const giveUp = async (id: string, path: string) => {
        const sent = await rest.send(alice, method, `${base}/endpoints/${id}`, changed && { body: changed(path) });
        expect(sent.status).toBeLessThan(300);
      };
      const id = await create('/*', '0.01');
      const [cheap, premium] = [await create('/cheap', '0.01'), await create('/premium', '1')];
      for (const priceUsd of ['2', '3'])
        await rest.send(alice, 'PATCH', `${base}/endpoints/${id}`, { body: { priceUsd } });
      await giveUp(cheap, '/cheap');
      expect(await pricesOf(id)).toEqual([10_000, 2_000_000]);
      await giveUp(premium, '/premium');
      expect(await pricesOf(id)).toEqual([2_000_000]);
    },
  );

  test('is still valid if the methods become fewer, or the path stays the same', async () => {
    const { id } = (await add({ path: '/stays', priceUsd: '0.01', methods: ['GET', 'POST'] })).body;
    await change(id, { priceUsd: '5', path: '/stays', methods: ['GET'], protocol: 'HTTP' });
    expect(await pricesOf(id)).toEqual([10_000]);
  });

  test('isn’t valid if the endpoint was inactive, because buyers weren’t offered it', async () => {
    const { id } = (await add({ path: '/draft', priceUsd: '0.01' })).body;
    expect((await change(id, { isActive: false })).status).toBe(200);
    await change(id, { priceUsd: '5', isActive: true });
    expect(await pricesOf(id)).toEqual([]);
  });

  test('is deleted with its endpoint', async () => {
    const { id } = await createEndpoint(alice, shop.base);
    await change(id, { priceUsd: '9' });
    await rest.send(alice, 'DELETE', `${shop.base}/endpoints/${id}`);
    expect(await previous(id)).toEqual([]);
  });
});

test('a price that most clients refuse to pay is accepted with a warning', async () => {
  const warningsAt = async (priceUsd: string) => (await createEndpoint(alice, shop.base, { priceUsd })).warnings;
  const warning = (clients: string) => [
    `The price is higher than these clients pay for a request by default: ${clients}. Their users can raise the limit.`,
  ];
  expect(await warningsAt('0.1')).toEqual([]);
  expect(await warningsAt('0.100001')).toEqual(warning('x402-fetch (0.10 USD)'));
  expect(await warningsAt('1')).toEqual(warning('x402-fetch (0.10 USD)'));
  expect(await warningsAt('1.000001')).toEqual(warning('x402-fetch (0.10 USD) and @x402/fetch (1 USD)'));
  expect(await warningsAt('5.000001')).toEqual(
    warning('x402-fetch (0.10 USD), @x402/fetch (1 USD), and agentcash (5 USD)'),
  );
  const { id } = await createEndpoint(alice, shop.base, { priceUsd: '1' });
  expect((await change(id, { priceUsd: '50' })).body.warnings).toHaveLength(1);
  expect((await change(id, { priceUsd: '0.05' })).body.warnings).toEqual([]);
});

test('an endpoint can become free, with a warning', async () => {
  const { id, warnings } = await createEndpoint(alice, shop.base, { priceUsd: '0.00' });
  expect(warnings).toEqual(['This endpoint is free. Buyers don’t pay for requests.']);
  expect((await change(id, { priceUsd: '0.01' })).body).toMatchObject({ priceUsd: '0.01', warnings: [] });
  expect((await change(id, { priceUsd: '0' })).body).toMatchObject({ priceUsd: '0', warnings });
});

describe('paths that match the same requests', () => {
  test('conflict, even if their parameters have different names', async () => {
    const { id } = (await add({ path: '/users/:id/posts/:post' })).body;
    const taken = await add({ path: '/users/:name/posts/:p' });
    expect(taken.status).toBe(409);
    expect(taken.body).toMatchObject({ code: 'CONFLICT', errors: [{ pointer: '/path' }, { pointer: '/methods' }] });
    for (const path of ['/users/:id/posts', '/users/id/posts/:post', '/users/:id/posts/*', '/users/:id/:posts/:post'])
      expect((await add({ path })).status).toBe(201);
    const other = (await add({ path: '/other' })).body;
    expect((await change(other.id, { path: '/users/:x/posts/:y' })).status).toBe(409);
    expect((await change(id, { path: '/users/:user/posts/:post' })).status).toBe(200);
  });

  test('do not conflict in different projects', async () => {
    const other = await createProject(alice);
    await createEndpoint(alice, other.base, { path: '/a/:b' });
    expect((await add({ path: '/a/:c' })).status).toBe(201);
  });
});

describe('a placeholder in an upstream URL', () => {
  test('must be in the path', async () => {
    const good = { path: '/v1/:city/*', upstreamUrl: 'https://api.example.com:8443/weather/:city/*?q=:none' };
    const { id } = (await add(good)).body;
    const refused = await add({ path: '/v2/:city', upstreamUrl: 'https://api.example.com/weather/:town' });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toEqual([
      { pointer: '/upstreamUrl', message: 'Contains ":town", which is not in the endpoint’s path.' },
    ]);
    expect((await change(id, { path: '/v1/:place/*' })).status).toBe(422);
    expect((await change(id, { upstreamUrl: 'https://api.example.com/:city/x' })).status).toBe(200);
    expect((await add({ path: '/v3', upstreamUrl: 'https://api.example.com/*' })).status).toBe(422);
  });
});
