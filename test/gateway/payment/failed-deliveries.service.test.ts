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
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,gateway' }, rateLimitNow: () => now });
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

/** Uses up the daily limit of the shop's account. It refills while a test runs, so this is a little more than everything. */
async function useUp({ projectId }: Shop): Promise<void> {
  await sql.query(
    `INSERT INTO "RateLimit" SELECT 'failed-deliveries ' || "userId", now() + interval '24 hours 1 minute' FROM "Project" WHERE "id" = $1
     ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
    [projectId],
  );
}

async function storedDeliveries({ projectId }: Shop): Promise<number> {
  const { rows } = await sql.query('SELECT count(*)::int FROM "Delivery" WHERE "projectId" = $1', [projectId]);
  return rows[0].count;
}

async function buy(shop: Shop) {
  const headers = v2Headers(await sign(await rails.wallet()));
  const response = await fetch(`${shop.url}/weather`, { headers });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    text: await response.text(),
    headers,
  };
}

const FEW = Array(3).fill(['payment.verified', 'payment.failed']);
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

test('payments of accounts with few webhooks never count', async () => {
  isDown = true;
  const shop = await openShop('few', FEW);
  expect((await buy(shop)).status).toBe(500);
  await useUp(shop);
  for (let count = 0; count < 3; count++) expect((await buy(shop)).status).toBe(500);
});
