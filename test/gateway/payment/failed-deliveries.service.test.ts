import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createWebhook } from '../../support/resources.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

type Shop = Awaited<ReturnType<typeof createShop>>;

let rails: Rails;
let upstream: Receiver;
let app: TestApp;
let sql: pg.Client;
let isDown = true;
/** Milliseconds. */
let now = 1_000_000;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => (isDown ? { statusCode: 500 } : { body: 'served' }));
  const env = { ...rails.env, ROLES: 'api,gateway', TRUSTED_PROXIES: '127.0.0.1' };
  app = await startTestApp({ env, rateLimitNow: () => now });
  sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function openShop(subject: string, events: string[][]): Promise<Shop> {
  const owner = await app.user(subject, 'STARTER');
  const shop = await createShop(app, owner, { '/weather': { upstreamUrl: `${upstream.url}/weather` } });
  for (const eventTypes of events) await createWebhook(owner, shop.base, { eventTypes });
  return shop;
}

/** Uses up a daily limit of the shop's account. It refills while a test runs, so this is a little more than everything. */
async function useUp({ projectId }: Shop, network = ''): Promise<void> {
  await sql.query(
    `INSERT INTO "RateLimit" SELECT concat_ws(' ', 'failed-deliveries', "userId", nullif($2, '')), now() + interval '24 hours 1 minute'
       FROM "Project" WHERE "id" = $1
     ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
    [projectId, network],
  );
}

async function storedDeliveries({ projectId }: Shop): Promise<number> {
  const { rows } = await sql.query('SELECT count(*)::int FROM "Delivery" WHERE "projectId" = $1', [projectId]);
  return rows[0].count;
}

/** A client address in a network, and another network. */
const ADDRESS = '2001:db8:1:1::1';
const SAME_NETWORK = '2001:db8:1:2::1';
const NETWORK = '2001:db8:1::';
const OTHER_ADDRESS = '198.51.100.1';

async function buy(shop: Shop, { from = ADDRESS, at = shop }: { from?: string; at?: Shop } = {}) {
  const headers = { ...v2Headers(await sign(await rails.wallet())), 'x-forwarded-for': from };
  const response = await fetch(`${at.url}/weather`, { headers });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    text: await response.text(),
    headers,
  };
}

/** The seconds until the shop's limit is completely unused. */
async function secondsOf({ projectId }: Shop): Promise<number> {
  const { rows } = await sql.query(
    `SELECT extract(epoch FROM "arrivesAt" - now())::float8 AS seconds FROM "RateLimit", "Project" p
      WHERE p."id" = $1 AND key = 'failed-deliveries ' || p."userId"`,
    [projectId],
  );
  return rows[0]?.seconds ?? 0;
}

const MANY_FAILED = Array(7).fill(['payment.failed']);
const MANY_VERIFIED = Array(7).fill(['payment.verified']);

test.for([
  ['that failed', MANY_FAILED],
  ['that were verified', MANY_VERIFIED],
] as const)(
  'an account whose payments %s have filled the day’s limit of deliveries sells again once its API works',
  async ([what, webhooks]) => {
    isDown = true;
    const shop = await openShop(`down ${what}`, webhooks);
    const other = await openShop(`other ${what}`, MANY_FAILED);
    // The gateway learns how many webhooks there are from the first payment.
    expect((await buy(shop)).status).toBe(500);
    await useUp(shop);
    await useUp(shop, NETWORK);
    expect((await buy(shop)).status).toBe(500);
    const before = await storedDeliveries(shop);
    const rejected = await buy(shop);
    expect(rejected).toMatchObject({ status: 429, text: expect.stringContaining('RATE_LIMITED') });
    expect(Number(rejected.retryAfter)).toBeGreaterThan(0);
    expect(Number(rejected.retryAfter)).toBeLessThanOrEqual(600);
    expect(await storedDeliveries(shop)).toBe(before);
    expect((await buy(other)).status).toBe(500);

    isDown = false;
    now += Number(rejected.retryAfter) * 1000;
    for (let count = 0; count < 3; count++) expect((await buy(shop)).status).toBe(200);
    // The rejected payment wasn't used up.
    const again = await fetch(`${shop.url}/weather`, { headers: rejected.headers });
    expect(again.status).toBe(200);
  },
);

test('an account whose limit is used up still sells to everyone, except to the networks that have used it', async () => {
  isDown = true;
  const shop = await openShop('used up', MANY_FAILED);
  expect((await buy(shop)).status).toBe(500);
  await useUp(shop);
  await useUp(shop, NETWORK);
  expect((await buy(shop)).status).toBe(500);
  expect((await buy(shop, { from: SAME_NETWORK })).status).toBe(429);
  // Some of the requests of honest buyers fail too.
  for (let count = 0; count < 3; count++) expect((await buy(shop, { from: OTHER_ADDRESS })).status).toBe(500);
  isDown = false;
  expect((await buy(shop, { from: OTHER_ADDRESS })).status).toBe(200);
});

test('a network that has used up its half of an account’s limit is rejected, even if the account has something left', async () => {
  isDown = true;
  const shop = await openShop('half', MANY_FAILED);
  expect((await buy(shop)).status).toBe(500);
  await useUp(shop, NETWORK);
  expect((await buy(shop)).status).toBe(500);
  expect((await buy(shop)).status).toBe(429);
  isDown = false;
  expect((await buy(shop, { from: OTHER_ADDRESS })).status).toBe(200);
});

test('payments that fail count toward their account’s limit without any webhooks, and in all of its projects', async () => {
  isDown = true;
  const one = await openShop('no webhooks', []);
  const owner = await app.user('no webhooks', 'STARTER');
  const two = await createShop(app, owner, { '/weather': { upstreamUrl: `${upstream.url}/weather` } });
  for (let count = 0; count < 4; count++)
    for (const at of [one, two]) expect((await buy(one, { at, from: `2001:db8:1:${count}::1` })).status).toBe(500);
  expect(await secondsOf(one)).toBeGreaterThan(0);

  await useUp(one);
  await useUp(one, NETWORK);
  for (let count = 0; count < 7; count++) await buy(one);
  for (const at of [one, two]) expect((await buy(one, { at })).status).toBe(429);
});

test('a network that has caused too many failures in all accounts together is rejected where it has caused many', async () => {
  isDown = true;
  const [one, other] = [await openShop('one of all', MANY_FAILED), await openShop('other of all', MANY_FAILED)];
  const from = '2001:db8:9::1';
  for (const shop of [one, other]) expect((await buy(shop, { from })).status).toBe(500);
  await sql.query(
    `INSERT INTO "RateLimit" SELECT 'failed-deliveries of network 2001:db8:9::', now() + interval '24 hours 1 minute'
     ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
  );
  await sql.query(
    `INSERT INTO "RateLimit" SELECT 'failed-deliveries ' || "userId" || ' 2001:db8:9::', now() + interval '1 hour'
       FROM "Project" WHERE "id" = $1 ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
    [one.projectId],
  );
  for (const shop of [one, other]) expect((await buy(shop, { from })).status).toBe(500);
  expect((await buy(one, { from })).status).toBe(429);
  isDown = false;
  expect((await buy(other, { from })).status).toBe(200);
});
