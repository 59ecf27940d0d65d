import pg from 'pg';
import type { Hex } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, decodeHeader, NETWORK, type Rails, SELLER, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let database: pg.Client;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
/** How far the gateway's clock is ahead. */
let aheadMilliseconds = 0;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env, now: () => new Date(Date.now() + aheadMilliseconds) });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/streamed': { upstreamUrl: `${upstream.url}/now`, settlement: 'BEFORE_REQUEST' },
  });
});

beforeEach(() => {
  aheadMilliseconds = 0;
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
  rails.facilitator.misbehave('verify', undefined);
  rails.facilitator.misbehave('settle', undefined);
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

type PaymentBody = { id: string; status: string; transactionHash: Hex };

/** Sends a payment of one cent. */
async function ask(headers: Record<string, string>, path = '/weather') {
  const answer = await fetch(shop.url + path, { headers });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

async function paymentOf(headers: Headers): Promise<PaymentBody> {
  const id = headers.get('tollgate-payment-id');
  return (await alice.rest<PaymentBody>('GET', `${shop.base}/payments/${id}`)).body;
}

describe('a settlement that the facilitator confirms', () => {
  test('counts after one block, without waiting for more', async () => {
    const payer = await rails.wallet(10_000n);
    const { status, headers } = await ask(v2Headers(await sign(payer)));
    expect(status).toBe(200);
    const { transaction } = decodeHeader<{ transaction: Hex }>(headers.get('payment-response'));
    // This chain adds a block only for a transaction, so waiting for more blocks would never end.
    expect(await rails.chain.client.getTransactionReceipt({ hash: transaction })).toMatchObject({ status: 'success' });
    expect(await paymentOf(headers)).toMatchObject({ status: 'SETTLED', transactionHash: transaction });
  });

  test('keeps its response even if its block is replaced later and the transfer has to be sent again', async () => {
    const payer = await rails.wallet(10_000n);
    const before = await rails.chain.client.snapshot();
    const payment = v2Headers(await sign(payer));
    const first = await ask(payment);
    expect(first).toMatchObject({ status: 200, text: 'served' });
    const { request } = rails.facilitator.calls.findLast(({ operation }) => operation === 'settle')!;

    await rails.chain.client.revert({ id: before });

    expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
    expect(await ask(payment)).toMatchObject({ status: 200, text: 'served' });
    expect((await paymentOf(first.headers)).status).toBe('SETTLED');
    expect(upstream.requests).toHaveLength(1);

    const settle = { method: 'POST', body: JSON.stringify(request) };
    const again = await (await fetch(`${rails.facilitator.url}/settle`, settle)).json();
    expect(again).toMatchObject({ success: true });
    expect(await rails.chain.balanceOf(payer.address)).toBe(0n);
  });

  test('counts even if the facilitator lies', async () => {
    const transaction = `0x${'ab'.repeat(32)}`;
    rails.facilitator.misbehave('settle', (response) => {
      response.end(JSON.stringify({ success: true, transaction, network: NETWORK.id, payer: SELLER }));
    });
    const payer = await rails.wallet(10_000n);
    const { status, headers } = await ask(v2Headers(await sign(payer)));
    expect(status).toBe(200);
    expect(await paymentOf(headers)).toMatchObject({ status: 'SETTLED', transactionHash: transaction });
    expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
  });
});

describe.each(['/weather', '/streamed'])('a response without a body from %s', (path) => {
  test.each([
    ['204', 'GET', {}],
    ['304', 'GET', { etag: '"e"' }],
    ['200', 'HEAD', { 'last-modified': 'Sat, 28 Nov 2026 12:00:00 GMT' }],
    ['200', 'HEAD', { 'content-length': '1234', 'content-type': 'text/csv' }],
  ] as const)('with %s to %s has only headers from the upstream, and is charged', async (status, method, headers) => {
    upstream.handle((_request, response) => void response.writeHead(Number(status), headers).end());
    const payer = await rails.wallet(10_000n);
    const answer = await fetch(shop.url + path, { method, headers: v2Headers(await sign(payer)) });
    expect(answer.status).toBe(Number(status));
    const about = ['content-length', 'content-type', 'etag', 'last-modified', 'transfer-encoding'];
    const shown = Object.fromEntries([...answer.headers].filter(([name]) => about.includes(name)));
    expect(shown).toEqual(headers);
    expect(await rails.chain.balanceOf(payer.address)).toBe(0n);
  });
});

describe('a retry with a settled payment', () => {
  test('gets the original response after the authorization has expired', async () => {
    const payer = await rails.wallet(20_000n);
    const payment = v2Headers(await sign(payer));
    expect(await ask(payment)).toMatchObject({ status: 200, text: 'served' });
    const late = v2Headers(await sign(payer));
    aheadMilliseconds = 121_000;
    expect(await ask(payment)).toMatchObject({ status: 200, text: 'served' });
    expect(upstream.requests).toHaveLength(1);
    expect((await ask(late)).status).toBe(402);
    expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
  });

  test('gets 404 while its endpoint is disabled, and the original response once it is enabled again', async () => {
    const payer = await rails.wallet(10_000n);
    const payment = v2Headers(await sign(payer));
    expect((await ask(payment)).status).toBe(200);
    const endpoint = `${shop.base}/endpoints/${shop.ids['/weather']}`;
    await alice.rest('PATCH', endpoint, { isActive: false });
    await expect.poll(async () => (await ask(payment)).status).toBe(404);
    await alice.rest('PATCH', endpoint, { isActive: true });
    await expect.poll(async () => (await ask(payment)).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  test("gets the original response after the project's wallet has changed", async () => {
    const other = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
    const payer = await rails.wallet(20_000n);
    const payment = v2Headers(await sign(payer));
    const present = () => fetch(`${other.url}/weather`, { headers: payment });
    expect((await present()).status).toBe(200);
    await alice.rest('PATCH', other.base, { walletAddress: payer.address });
    const unpaid = async () => (await (await fetch(`${other.url}/weather`)).json()) as { accepts: { payTo: Hex }[] };
    await expect.poll(async () => (await unpaid()).accepts[0]!.payTo.toLowerCase()).toBe(payer.address.toLowerCase());
    expect((await present()).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });
});

test('a retry for a response that is no longer kept returns 410, without another upstream call or charge', async () => {
  const payer = await rails.wallet(20_000n);
  const payment = v2Headers(await sign(payer));
  const { headers } = await ask(payment);
  const { id } = await paymentOf(headers);
  await database.query('UPDATE "PaymentAnswer" SET "expiresAt" = now() WHERE "paymentId" = $1', [id]);
  const again = await ask(payment);
  expect([again.status, JSON.parse(again.text).code]).toEqual([410, 'PAYMENT_RESPONSE_GONE']);
  expect(decodeHeader(again.headers.get('payment-response'))).toMatchObject({ success: true });
  expect(upstream.requests).toHaveLength(1);
  expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
});

test("a payment is rejected as used if its row was lost with the database, and isn't charged twice", async () => {
  const payer = await rails.wallet(20_000n);
  const payment = v2Headers(await sign(payer));
  const { headers } = await ask(payment);
  await database.query('DELETE FROM "Payment" WHERE id = $1', [headers.get('tollgate-payment-id')]);
  const again = await ask(payment);
  expect(again.status).toBe(402);
  expect(upstream.requests).toHaveLength(1);
  expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
});
