import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const CENT = 10_000n;
const RESERVED_BYTES = 64 * 1024;

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let url: string;
const { promise: released, resolve: release } = Promise.withResolvers<void>();

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(async () => {
    await released;
    return { body: 'served' };
  });
  const maxAddressBytes = 10 * RESERVED_BYTES;
  const responseMemory = { maxBytes: 4 * maxAddressBytes, maxAddressBytes, maxPaymentBytes: maxAddressBytes };
  app = await startTestApp({ env: rails.env, responseMemory });
  const shop = await createShop(app, await app.user('alice'), { '/orders': { upstreamUrl: `${upstream.url}/orders` } });
  url = `${shop.url}/orders`;
});

afterAll(async () => {
  release();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

test('an address has only as many payments in flight as its share of the memory has room for, and others can be sent again later', async () => {
  const buyer = await rails.wallet(100n * CENT);
  const payments = await Promise.all(Array.from({ length: 30 }, async () => v2Headers(await sign(buyer))));
  const statuses: number[] = [];
  const rejected: Record<string, string>[] = [];
  const send = async (headers: Record<string, string>) => {
    const { status } = await fetch(url, { headers });
    statuses.push(status);
    if (status === 503) rejected.push(headers);
  };
  const sent = payments.slice(0, 10).map(send);
  await expect.poll(() => upstream.requests.length).toBe(10);
  sent.push(...payments.slice(10).map(send));
  await expect.poll(() => statuses).toEqual(Array.from({ length: 20 }, () => 503));
  expect(rails.facilitator.countOf('verify')).toBe(10);
  release();
  await Promise.all(sent);
  expect(statuses.slice(20)).toEqual(Array.from({ length: 10 }, () => 200));
  expect(upstream.requests).toHaveLength(10);

  const again = [];
  for (const headers of rejected) again.push((await fetch(url, { headers })).status);
  expect(again).toEqual(Array.from({ length: 20 }, () => 200));
});

test('a wallet with 256 payments in flight gets a 429 that says so, and can send the payment again later', async () => {
  const buyer = await rails.wallet(1_000n * CENT);
  expect((await fetch(url, { headers: v2Headers(await sign(buyer)) })).status).toBe(200);
  const database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  await database.query(
    `INSERT INTO "Payment" SELECT copy.* FROM "Payment" p, generate_series(1, 256) AS n,
      jsonb_populate_record(p, jsonb_build_object('id', p."id" || n, 'nonce', '0x' || encode(sha256(n::text::bytea), 'hex'),
        'status', 'VERIFIED', 'settledAt', NULL, 'leasedUntil', now() + interval '1 hour')) AS copy
    WHERE p."payer" = $1`,
    [buyer.address.toLowerCase()],
  );
  const headers = v2Headers(await sign(buyer));
  const full = await fetch(url, { headers });
  expect([full.status, full.headers.get('retry-after'), await full.json()]).toEqual([
    429,
    '1',
    expect.objectContaining({
      code: 'FUNDS_IN_USE',
      detail: expect.stringMatching(
        /^The wallet has 256 payments in progress, which is the maximum\. Nothing was charged\./,
      ),
    }),
  ]);
  await database.query(`DELETE FROM "Payment" WHERE "status" = 'VERIFIED'`);
  await database.end();
  expect((await fetch(url, { headers })).status).toBe(200);
});
