import { request } from 'node:http';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../../../src/bus/bus.ts';
import { loadRoutes } from '../../../src/gateway/routing/load-routes.ts';
import { openRouteTable } from '../../../src/gateway/routing/route-table.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createShop, decodeHeader, NETWORK, SELLER } from '../support.ts';

type Terms = { resource: { url: string }; accepts: { amount: string; payTo: string }[] };

const secretBox = {
  open: () => {
    throw new Error('Nothing is encrypted.');
  },
};

/** Loses every hint. */
const silent: Bus = {
  publish: () => {},
  publishHereFirst: () => {},
  subscribe: () => () => {},
  close: async () => {},
};

let app: TestApp;
/** Learns of changes only through the bus. */
let other: TestApp;
let alice: TestUser;
let upstream: Receiver;

beforeAll(async () => {
  upstream = await startReceiver();
  app = await startTestApp();
  const { databaseUrl, dataDir } = app;
  const env = { ROLES: 'gateway' };
  other = await startTestApp({ databaseUrl, dataDir, env, maxRouteAgeMilliseconds: 3_600_000 });
  alice = await app.user('alice');
});

afterAll(async () => {
  await other?.stop();
  await app?.stop();
  await upstream?.close();
});

/** Opens a route table that gets no hints and lists the names of its queries. */
async function openCounted(options: { maxBytes?: number; now?: () => number } = {}) {
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  const queries: string[] = [];
  const query = (...args: [{ name: string }]) => queries.push(args[0].name) && pool.query(...(args as [never]));
  const table = await openRouteTable({
    db: { pool: { query } as unknown as pg.Pool },
    bus: silent,
    log: pino({ level: 'silent' }),
    networks: [NETWORK],
    ownHosts: undefined,
    secretBox,
    ...options,
  });
  queries.length = 0;
  const close = async () => {
    table.close();
    await pool.end();
  };
  return { table, queries, pool, close };
}

/** Sends a custom Host header, which fetch can't. */
function ask(
  url: string,
  host?: string,
): Promise<{ status: number; terms: Terms | undefined; headers: Record<string, unknown> }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof ask>>>();
  const asking = request(url, { headers: host ? { host } : {} }, (response) => {
    const header = response.headers['payment-required'];
    response.resume();
    response.on('end', () =>
      resolve({
        status: response.statusCode!,
        terms: header ? decodeHeader<Terms>(String(header)) : undefined,
        headers: response.headers,
      }),
    );
  });
  asking.on('error', reject).end();
  return promise;
}

const OFTEN = { interval: 20 };

test('a changed route takes effect in other processes through the bus', async () => {
  const shop = await createShop(app, alice, { '/a': { upstreamUrl: `${upstream.url}/a` } });
  const elsewhere = `${other.url}/gateway/${shop.projectId}`;
  const status = async (path: string) => (await ask(elsewhere + path)).status;
  const endpoint = `${shop.base}/endpoints/${shop.ids['/a']}`;
  expect(await status('/a')).toBe(402);
  expect(await status('/b')).toBe(404);

  await alice.rest('POST', `${shop.base}/endpoints`, { path: '/b', upstreamUrl: upstream.url, priceUsd: '1' });
  await expect.poll(() => status('/b'), OFTEN).toBe(402);
  await alice.rest('PATCH', endpoint, { priceUsd: '0.02' });
  await expect.poll(async () => (await ask(`${elsewhere}/a`)).terms?.accepts[0]?.amount, OFTEN).toBe('20000');
  await alice.rest('PATCH', endpoint, { path: '/moved' });
  await expect.poll(() => status('/a'), OFTEN).toBe(404);
  expect(await status('/moved')).toBe(402);
  await alice.rest('PATCH', endpoint, { isActive: false });
  await expect.poll(() => status('/moved'), OFTEN).toBe(404);
  await alice.rest('PATCH', endpoint, { isActive: true });
  await expect.poll(() => status('/moved'), OFTEN).toBe(402);
  await alice.rest('PATCH', shop.base, { walletAddress: '0x000000000000000000000000000000000000dEaD' });
  await expect
    .poll(async () => (await ask(`${elsewhere}/moved`)).terms?.accepts[0]?.payTo, OFTEN)
    .toBe('0x000000000000000000000000000000000000dEaD');
  await alice.rest('DELETE', endpoint);
  await expect.poll(() => status('/moved'), OFTEN).toBe(404);
  await alice.rest('DELETE', shop.base);
  await expect.poll(() => status('/b'), OFTEN).toBe(404);
});

test('an endpoint that is turned off isn’t served by a cheaper, less specific one, in any process', async () => {
  const priceUsd = '25';
  const shop = await createShop(app, alice, {
    '/*': { upstreamUrl: upstream.url, priceUsd: '0.01' },
    '/premium': { upstreamUrl: `${upstream.url}/premium`, priceUsd },
  });
  const endpoint = `${shop.base}/endpoints/${shop.ids['/premium']}`;
  const gateways = [app, other].map(({ url }) => `${url}/gateway/${shop.projectId}`);
  const offers = (path: string) =>
    Promise.all(
      gateways.map(async (url) => {
        const { status, terms } = await ask(url + path);
        return terms?.accepts[0]?.amount ?? status;
      }),
    );
  expect(await offers('/premium')).toEqual(['25000000', '25000000']);
  await alice.rest('PATCH', endpoint, { isActive: false });
  await expect.poll(() => offers('/premium'), OFTEN).toEqual([404, 404]);
  expect(await offers('/PREMIUM')).toEqual([404, 404]);
  expect(await offers('/else')).toEqual(['10000', '10000']);

  await alice.rest('PATCH', endpoint, { path: '/other' });
  await expect.poll(() => offers('/other'), OFTEN).toEqual([404, 404]);
  expect(await offers('/premium')).toEqual(['10000', '10000']);
  await alice.rest('PATCH', endpoint, { isActive: true });
  await expect.poll(() => offers('/other'), OFTEN).toEqual(['25000000', '25000000']);
});

test('a flood of requests for unknown paths causes few queries, and none reads routes that haven’t changed', async () => {
  const { projectId } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
  const { table, queries, close } = await openCounted({ now: () => 0 });
  await table.find(projectId, ['a'], 'GET');
  queries.length = 0;
  const startedAt = performance.now();
  for (let round = 0; round < 5; round++) {
    const found = await Promise.all(
      Array.from({ length: 100 }, (_, index) => table.find(projectId, [`x${index}`], 'GET')),
    );
    expect(found.every((route) => route === undefined)).toBe(true);
  }
  expect(queries).toEqual(Array(5).fill('gateway-routes-version'));
  // Each query waits for 100 milliseconds. Timers may be a little early.
  expect(performance.now() - startedAt).toBeGreaterThan(450);
  await close();
});

test('a project’s routes are read again only after they have changed', async () => {
  const { projectId, ids } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
  let milliseconds = 0;
  const { table, queries, pool, close } = await openCounted({ now: () => milliseconds });
  async function queriesOfNextSecond(): Promise<string[]> {
    milliseconds += 1_001;
    queries.length = 0;
    await table.find(projectId, ['a'], 'GET');
    return [...queries];
  }
  expect(await queriesOfNextSecond()).toEqual(['gateway-routes']);
  for (const change of [
    `UPDATE "Endpoint" SET "description" = 'Changed' WHERE "projectId" = $1`,
    `INSERT INTO "Endpoint" ("id", "projectId", "path", "upstreamUrl", "priceAtomic") VALUES ('ep_b', $1, '/b', 'https://b.example', 1)`,
    `UPDATE "Endpoint" SET "isActive" = false WHERE "projectId" = $1 AND "path" = '/b'`,
    `UPDATE "Endpoint" SET "isActive" = true WHERE "projectId" = $1 AND "path" = '/b'`,
    `DELETE FROM "Endpoint" WHERE "projectId" = $1 AND "path" = '/b'`,
    `INSERT INTO "PreviousPrice" ("endpointId", "priceAtomic", "validUntil")
     SELECT "id", 7, now() + interval '1 hour' FROM "Endpoint" WHERE "projectId" = $1`,
    `UPDATE "PreviousPrice" SET "validUntil" = now() WHERE "endpointId" IN (SELECT "id" FROM "Endpoint" WHERE "projectId" = $1)`,
    `UPDATE "Project" SET "walletAddress" = '0x000000000000000000000000000000000000dEaD' WHERE "id" = $1`,
    `UPDATE "User" SET "blockedAt" = now() WHERE "id" = (SELECT "userId" FROM "Project" WHERE "id" = $1)`,
    `UPDATE "User" SET "blockedAt" = NULL WHERE "id" = (SELECT "userId" FROM "Project" WHERE "id" = $1)`,
    `INSERT INTO "BuyerRules" ("projectId", "allowedWallets", "deniedWallets") VALUES ($1, '{}', '{}')`,
    `UPDATE "BuyerRules" SET "deniedWallets" = '{0xA0}', "maxRequests" = 5 WHERE "projectId" = $1`,
  ]) {
    expect(await queriesOfNextSecond(), change).toEqual(['gateway-routes-version']);
    await pool.query(change, [projectId]);
    expect(await queriesOfNextSecond(), change).toEqual(['gateway-routes-version', 'gateway-routes']);
  }
  const found = await table.find(projectId, ['a'], 'GET');
  const payTo = '0x000000000000000000000000000000000000dEaD';
  expect(found?.route).toMatchObject({ endpointId: ids['/a'], description: 'Changed', payTo, isBlocked: false });
  const limit = { period: 'DAY', maxRequests: 5, maxSpendAtomic: null };
  expect(found?.route?.buyers).toEqual({ allowed: new Set(), denied: new Set(['0xa0']), limit });
  await close();
});

test('the headers and the buyers’ rules of a project are read once, for all of its routes', async () => {
  const endpoints = Object.fromEntries(['/a', '/b', '/c'].map((path) => [path, { upstreamUrl: upstream.url }]));
  const { projectId, base } = await createShop(app, alice, endpoints);
  expect((await alice.rest('PATCH', `${base}/buyer-rules`, { deniedWallets: [SELLER] })).status).toBe(200);
  const pool = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  await pool.query(`UPDATE "Project" SET "secretUpstreamHeaders" = 'sealed' WHERE id = $1`, [projectId]);
  const read: { secretProjectHeaders: string | null; buyers: object | null }[] = [];
  const query = async (...args: [never]) => {
    const result = (await pool.query(...args)) as unknown as pg.QueryResult;
    read.push(...result.rows);
    return result;
  };
  const opened: (string | null)[] = [];
  const openCredentials = (_projectId: string, sealed: string | null) => {
    opened.push(sealed);
    return () => () => ({ headers: {}, secrets: [] });
  };
  const { routes } = await loadRoutes({ query } as never, projectId, [NETWORK], openCredentials);
  expect(read.map(({ secretProjectHeaders }) => secretProjectHeaders)).toEqual(['sealed', null, null]);
  expect(read.map(({ buyers }) => buyers !== null)).toEqual([true, false, false]);
  expect(opened).toEqual(['sealed']);
  const denied = routes.map(({ buyers }) => [...(buyers?.denied ?? [])]);
  expect(denied).toEqual(Array(3).fill([SELLER.toLowerCase()]));
  await pool.end();
});

test('the projects that were read the longest ago are removed if the routes take too much memory', async () => {
  const { projectId: large } = await createShop(app, alice, {
    '/a': { upstreamUrl: upstream.url },
    '/b': { upstreamUrl: upstream.url },
  });
  const { projectId: small } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
  const { table, queries, close } = await openCounted({ maxBytes: 13_100, now: () => 0 });
  const find = (projectId: string) => table.find(projectId, ['a'], 'GET');
  const empty = newId('Project');
  for (const projectId of [large, small, large, small]) await find(projectId);
  expect(queries).toEqual(['gateway-routes', 'gateway-routes']);
  expect(await find(empty)).toBeUndefined();
  await find(small);
  expect(queries).toHaveLength(3);
  expect((await find(large))?.route).toBeDefined();
  expect(queries).toHaveLength(4);
  expect([large, small, empty].map((projectId) => table.version(projectId) !== undefined)).toEqual([true, false, true]);
  await close();
});

test('a change without a hint takes effect within a second', async () => {
  const { projectId, ids } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  let milliseconds = 0;
  const table = await openRouteTable({
    db: { pool },
    bus: silent,
    log: pino({ level: 'silent' }),
    networks: [NETWORK],
    ownHosts: undefined,
    secretBox,
    now: () => milliseconds,
  });
  const price = async () => (await table.find(projectId, ['a'], 'GET'))?.route?.priceAtomic;
  expect(await price()).toBe(10_000n);
  await pool.query('UPDATE "Endpoint" SET "priceAtomic" = 20000 WHERE id = $1', [ids['/a']]);
  milliseconds = 1_000;
  expect(await price()).toBe(10_000n);
  milliseconds = 1_001;
  expect(await price()).toBe(20_000n);
  table.close();
  await pool.end();
});

test('a method is looked up in the database before it counts as not allowed, even without a hint', async () => {
  const { projectId, ids } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url, methods: ['GET'] } });
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  const log = pino({ level: 'silent' });
  const table = await openRouteTable({
    db: { pool },
    bus: silent,
    log,
    networks: [NETWORK],
    ownHosts: undefined,
    secretBox,
  });
  expect(await table.find(projectId, ['a'], 'PUT')).toEqual({ allow: ['GET'] });
  await table.find(projectId, ['a'], 'GET');
  await pool.query(`UPDATE "Endpoint" SET methods = '{GET,PUT}' WHERE id = $1`, [ids['/a']]);
  expect((await table.find(projectId, ['a'], 'PUT'))?.route?.endpointId).toBe(ids['/a']);
  table.close();
  await pool.end();
});

test('the most specific endpoint serves a path', async () => {
  const shop = await createShop(app, alice, {
    '/*': { upstreamUrl: upstream.url, priceUsd: '0.001' },
    '/users/:id': { upstreamUrl: upstream.url, priceUsd: '0.002' },
    '/users/me': { upstreamUrl: upstream.url, priceUsd: '0.003' },
  });
  const price = async (path: string) => (await ask(shop.url + path)).terms?.accepts[0]?.amount;
  expect(await price('/users/me')).toBe('3000');
  expect(await price('/users/%6De')).toBe('3000');
  expect(await price('/users/7')).toBe('2000');
  expect(await price('/users/7/orders')).toBe('1000');
  expect(await price('')).toBe('1000');
  expect(await price('?q')).toBe('1000');
});

test("a project's own host serves its routes and nothing else", async () => {
  const shop = await createShop(app, alice, {
    '/weather': { upstreamUrl: upstream.url },
    '/api/projects': { upstreamUrl: upstream.url },
  });
  const host = 'api.shop.example';
  expect((await ask(`${other.url}/weather`, host)).status).toBe(404);
  const changed = await alice.rest('PATCH', shop.base, { gatewayHost: host });
  expect(changed.status).toBe(200);

  await expect.poll(async () => (await ask(`${other.url}/weather`, host)).status, OFTEN).toBe(402);
  const response = await ask(`${other.url}/weather?q`, 'API.Shop.Example:8443');
  expect(response.terms).toMatchObject({
    resource: { url: 'http://api.shop.example:8443/weather?q' },
    accepts: [{ payTo: SELLER }],
  });
  // On the seller's own host, their content has that host's rights.
  expect(response.headers['content-security-policy']).toBeUndefined();
  for (const path of ['/api/projects', '/graphql', '/healthz', '/metrics', `/gateway/${shop.projectId}/weather`, '/']) {
    expect((await ask(other.url + path, host)).status).toBe(path === '/api/projects' ? 402 : 404);
  }
  expect((await ask(`${other.url}/healthz`)).status).toBe(200);

  await alice.rest('PATCH', shop.base, { gatewayHost: null });
  await expect.poll(async () => (await ask(`${other.url}/weather`, host)).status, OFTEN).toBe(404);
});

test.each([
  '/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st/x',
  '/gateway/ep_01jc9x2v5qe3w8k4m6n7p9r0st/x',
  '/gateway/x/y',
  '/gateway',
])('%s returns 404 as problem+json', async (path) => {
  const response = await fetch(app.url + path);
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toContain('application/problem+json');
  expect(await response.json()).toMatchObject({ code: 'NOT_FOUND' });
});
