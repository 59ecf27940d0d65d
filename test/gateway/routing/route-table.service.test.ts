import { request } from 'node:http';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../../../src/bus/bus.ts';
import { openRouteTable } from '../../../src/gateway/routing/route-table.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway-processes.ts';
import { createShop, decodeHeader, SELLER } from '../support.ts';

type Terms = { resource: { url: string }; accepts: { amount: string; payTo: string }[] };

let app: TestApp;
let other: GatewayProcess;
let alice: TestUser;
let upstream: Receiver;

beforeAll(async () => {
  upstream = await startReceiver();
  app = await startTestApp();
  other = await startGatewayProcess(app, { env: {} });
  alice = await app.user('alice');
});

afterAll(async () => {
  await other?.end('SIGTERM');
  await app?.stop();
  await upstream?.close();
});

/** Sends a custom Host header, which fetch can't. */
function ask(
  url: string,
  host?: string,
): Promise<{ status: number; terms: Terms | undefined; headers: Record<string, unknown> }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof ask>>>();
  const asking = request(url, { headers: host ? { host } : {} }, (answer) => {
    const header = answer.headers['payment-required'];
    answer.resume();
    answer.on('end', () =>
      resolve({
        status: answer.statusCode!,
        terms: header ? decodeHeader<Terms>(String(header)) : undefined,
        headers: answer.headers,
      }),
    );
  });
  asking.on('error', reject).end();
  return promise;
}

// With a hint on the bus, this takes milliseconds. Without one, a process notices after a second.
const WHEN_TOLD = { timeout: 4_000, interval: 20 };

test('a changed route takes effect in other processes through the bus', async () => {
  const shop = await createShop(app, alice, { '/a': { upstreamUrl: `${upstream.url}/a` } });
  const elsewhere = `${other.url}/gateway/${shop.projectId}`;
  const status = async (path: string) => (await ask(elsewhere + path)).status;
  const endpoint = `${shop.base}/endpoints/${shop.ids['/a']}`;
  expect(await status('/a')).toBe(402);
  expect(await status('/b')).toBe(404);

  await alice.rest('POST', `${shop.base}/endpoints`, { path: '/b', upstreamUrl: upstream.url, priceUsd: '1' });
  await expect.poll(() => status('/b'), WHEN_TOLD).toBe(402);
  await alice.rest('PATCH', endpoint, { priceUsd: '0.02' });
  await expect.poll(async () => (await ask(`${elsewhere}/a`)).terms?.accepts[0]?.amount, WHEN_TOLD).toBe('20000');
  await alice.rest('PATCH', endpoint, { path: '/moved' });
  await expect.poll(() => status('/a'), WHEN_TOLD).toBe(404);
  expect(await status('/moved')).toBe(402);
  await alice.rest('PATCH', endpoint, { isActive: false });
  await expect.poll(() => status('/moved'), WHEN_TOLD).toBe(404);
  await alice.rest('PATCH', endpoint, { isActive: true });
  await expect.poll(() => status('/moved'), WHEN_TOLD).toBe(402);
  await alice.rest('PATCH', shop.base, { walletAddress: '0x000000000000000000000000000000000000dEaD' });
  await expect
    .poll(async () => (await ask(`${elsewhere}/moved`)).terms?.accepts[0]?.payTo, WHEN_TOLD)
    .toBe('0x000000000000000000000000000000000000dEaD');
  await alice.rest('DELETE', endpoint);
  await expect.poll(() => status('/moved'), WHEN_TOLD).toBe(404);
  await alice.rest('DELETE', shop.base);
  await expect.poll(() => status('/b'), WHEN_TOLD).toBe(404);
});

test('a flood of requests for unknown paths causes few queries', async () => {
  const { projectId } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  let queries = 0;
  const counted = { query: (...args: [never]) => ++queries && pool.query(...args) } as unknown as pg.Pool;
  const silent: Bus = {
    publish: () => {},
    publishHereFirst: () => {},
    subscribe: () => () => {},
    close: async () => {},
  };
  const table = await openRouteTable({
    db: { pool: counted },
    bus: silent,
    log: pino({ level: 'silent' }),
    ownHosts: undefined,
  });
  await table.find(projectId, ['a']);
  queries = 0;
  const startedAt = performance.now();
  for (let round = 0; round < 5; round++) {
    const found = await Promise.all(Array.from({ length: 100 }, (_, index) => table.find(projectId, [`x${index}`])));
    expect(found.every((route) => route === undefined)).toBe(true);
  }
  expect(queries).toBeGreaterThanOrEqual(5);
  expect(queries).toBeLessThanOrEqual((performance.now() - startedAt) / 100 + 1);
  table.close();
  await pool.end();
});

test('a change without a hint takes effect within a second', async () => {
  const { projectId, ids } = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  const silent: Bus = {
    publish: () => {},
    publishHereFirst: () => {},
    subscribe: () => () => {},
    close: async () => {},
  };
  let milliseconds = 0;
  const table = await openRouteTable({
    db: { pool },
    bus: silent,
    log: pino({ level: 'silent' }),
    ownHosts: undefined,
    now: () => milliseconds,
  });
  const price = async () => (await table.find(projectId, ['a']))?.priceAtomic;
  expect(await price()).toBe(10_000n);
  await pool.query('UPDATE "Endpoint" SET "priceAtomic" = 20000 WHERE id = $1', [ids['/a']]);
  milliseconds = 1_000;
  expect(await price()).toBe(10_000n);
  milliseconds = 1_001;
  expect(await price()).toBe(20_000n);
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

  await expect.poll(async () => (await ask(`${other.url}/weather`, host)).status, WHEN_TOLD).toBe(402);
  const answer = await ask(`${other.url}/weather?q`, 'API.Shop.Example:8443');
  expect(answer.terms).toMatchObject({
    resource: { url: 'http://api.shop.example:8443/weather' },
    accepts: [{ payTo: SELLER }],
  });
  // On the seller's own host, their content has that host's rights.
  expect(answer.headers['content-security-policy']).toBeUndefined();
  for (const path of ['/api/projects', '/graphql', '/healthz', '/metrics', `/gateway/${shop.projectId}/weather`, '/']) {
    expect((await ask(other.url + path, host)).status).toBe(path === '/api/projects' ? 402 : 404);
  }
  expect((await ask(`${other.url}/healthz`)).status).toBe(200);

  await alice.rest('PATCH', shop.base, { gatewayHost: null });
  await expect.poll(async () => (await ask(`${other.url}/weather`, host)).status, WHEN_TOLD).toBe(404);
});

test.each([
  '/gateway/proj_01jc9x2v5qe3w8k4m6n7p9r0st/x',
  '/gateway/ep_01jc9x2v5qe3w8k4m6n7p9r0st/x',
  '/gateway/x/y',
  '/gateway',
])('%s returns 404 as problem+json', async (path) => {
  const answer = await fetch(app.url + path);
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(await answer.json()).toMatchObject({ code: 'NOT_FOUND' });
});
