import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

type Problem = { code: string; detail: string };

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: 'served' }));
  app = await startTestApp({ env: rails.env });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
  rails.facilitator.calls.length = 0;
  rails.facilitator.misbehave('verify', undefined);
  rails.facilitator.misbehave('settle', undefined);
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const ask = (headers: Record<string, string>, path = '/weather') => fetch(shop.url + path, { headers });
const errorOf = async (answer: Response) => ({ status: answer.status, code: ((await answer.json()) as Problem).code });

async function paymentOf(answer: Response) {
  const { rows } = await database.query('SELECT * FROM "Payment" WHERE id = $1', [
    answer.headers.get('tollgate-payment-id'),
  ]);
  return rows[0];
}

async function eventsOf(paymentId: string): Promise<string[]> {
  const { rows } = await database.query(
    `SELECT type FROM "Event" WHERE data->>'paymentId' = $1 AND type LIKE 'payment.%' ORDER BY id`,
    [paymentId],
  );
  return rows.map(({ type }) => type);
}

describe("a facilitator that can't verify a payment", () => {
  test('causes a 503 if it is down, and the same payment works once it is back', async () => {
    await rails.facilitator.goDown();
    const buyer = await rails.wallet(10_000n);
    const headers = v2Headers(await sign(buyer));
    const answer = await ask(headers);
    expect(await errorOf(answer)).toEqual({ status: 503, code: 'FACILITATOR_UNAVAILABLE' });
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await paymentOf(answer)).toMatchObject({ status: 'FAILED', failureReason: 'facilitator_unavailable' });
    expect(upstream.requests).toHaveLength(0);

    await rails.facilitator.comeUp();
    expect((await ask(headers)).status).toBe(200);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test.each([
    ["isn't JSON", 200, '<html>'],
    ["isn't a valid response", 200, '{"ok":true}'],
    ['is JSON null', 200, 'null'],
    ['is an error', 500, 'oops'],
  ])('causes a 503 if its response %s', async (_what, statusCode, body) => {
    rails.facilitator.misbehave('verify', (response) => void response.writeHead(statusCode).end(body));
    const answer = await ask(v2Headers(await sign(await rails.wallet(10_000n))));
    expect(await errorOf(answer)).toEqual({ status: 503, code: 'FACILITATOR_UNAVAILABLE' });
    expect(await paymentOf(answer)).toMatchObject({ status: 'FAILED', failureStage: 'VERIFY' });
    expect(upstream.requests).toHaveLength(0);
  });

  test('causes a 503 if it closes the connection', async () => {
    rails.facilitator.misbehave('verify', (response) => void response.destroy());
    const answer = await ask(v2Headers(await sign(await rails.wallet(10_000n))));
    expect(answer.status).toBe(503);
    expect(upstream.requests).toHaveLength(0);
  });
});

describe('a settlement', () => {
  test("returns 402 if it is rejected, and nobody gets the upstream's response", async () => {
    const buyer = await rails.wallet(10_000n);
    // The money left the wallet between verification and settlement.
    upstream.handle(async () => {
      await rails.chain.giveGas(buyer.address);
      const hash = await rails.chain.client.writeContract({
        account: buyer,
        address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
        abi: [
          {
            type: 'function',
            name: 'transfer',
            stateMutability: 'nonpayable',
            inputs: [{ type: 'address' }, { type: 'uint256' }],
            outputs: [{ type: 'bool' }],
          },
        ],
        functionName: 'transfer',
        args: ['0x000000000000000000000000000000000000dEaD', 10_000n],
      });
      await rails.chain.client.waitForTransactionReceipt({ hash });
      return { body: 'served' };
    });
    const headers = v2Headers(await sign(buyer));
    const answer = await ask(headers);
    expect(answer.status).toBe(402);
    expect(await answer.text()).not.toContain('served');
    const reason = 'invalid_exact_evm_insufficient_balance';
    expect(decodeHeader(answer.headers.get('payment-response'))).toMatchObject({ success: false, errorReason: reason });
    expect(decodeHeader(answer.headers.get('payment-required'))).toMatchObject({ error: reason });
    const payment = await paymentOf(answer);
    expect(payment).toMatchObject({ status: 'FAILED', failureStage: 'SETTLE', failureReason: reason });
    expect(await eventsOf(payment.id)).toEqual(['payment.verified', 'payment.failed']);

    const again = await ask(headers);
    expect(again.status).toBe(402);
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([
    ['is cut off', (response) => void response.destroy()],
    ['is garbage', (response) => void response.end('<html>')],
    ['is an error', (response) => void response.writeHead(502).end('{"error":"bad gateway"}')],
    ['reports success without a transaction', (response) => void response.end('{"success":true,"transaction":""}')],
    [
      'reports that it is pending',
      (response) => void response.end('{"success":false,"errorReason":"settlement_pending"}'),
    ],
    ['has an unknown reason', (response) => void response.end('{"success":false,"errorReason":"moon_phase"}')],
  ] as [string, Parameters<Rails['facilitator']['misbehave']>[1]][])(
    "is found on the chain if its response %s, and the buyer gets the upstream's response",
    async (_what, fault) => {
      rails.facilitator.misbehave('settle', async (response, real, request) => {
        await real();
        await fault!(response, real, request);
      });
      const buyer = await rails.wallet(10_000n);
      const answer = await ask(v2Headers(await sign(buyer)));
      expect(answer.status).toBe(200);
      expect(await answer.text()).toBe('served');
      expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
      const payment = await paymentOf(answer);
      expect(payment.status).toBe('SETTLED');
      const receipt = await rails.chain.client.getTransactionReceipt({ hash: payment.transactionHash });
      expect(receipt.status).toBe('success');
      expect(await eventsOf(payment.id)).toEqual(['payment.verified', 'payment.settled']);
    },
  );

  test('returns 503 if its outcome is unknown, and a retry settles the payment and gets the response', async () => {
    rails.facilitator.misbehave('settle', (response) => void response.end('<html>'));
    const buyer = await rails.wallet(10_000n);
    const headers = v2Headers(await sign(buyer));
    const answer = await ask(headers);
    expect(await errorOf(answer)).toEqual({ status: 503, code: 'PAYMENT_UNRESOLVED' });
    expect(answer.headers.get('payment-required')).toBeNull();
    expect(decodeHeader(answer.headers.get('payment-response'))).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
    });
    const payment = await paymentOf(answer);
    expect(payment.status).toBe('UNKNOWN');
    expect(await eventsOf(payment.id)).toEqual(['payment.verified']);

    expect((await ask(headers)).status).toBe(503);
    rails.facilitator.misbehave('settle', undefined);
    // For a moment, retries get the result of the last lookup.
    await expect.poll(async () => (await ask(headers)).status).toBe(200);
    const again = await ask(headers);
    expect(await again.text()).toBe('served');
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    expect((await paymentOf(again)).status).toBe('SETTLED');
    expect(await eventsOf(payment.id)).toEqual(['payment.verified', 'payment.settled']);
  });

  test('is found on the chain automatically if it gets there late', async () => {
    const { promise: late, resolve: letGo } = Promise.withResolvers<void>();
    rails.facilitator.misbehave('settle', async (response, real) => {
      response.end('<html>');
      await late;
      await real();
    });
    const buyer = await rails.wallet(10_000n);
    const answer = await ask(v2Headers(await sign(buyer)));
    expect(answer.status).toBe(503);
    expect((await paymentOf(answer)).status).toBe('UNKNOWN');
    letGo();
    await expect.poll(async () => (await paymentOf(answer)).status).toBe('SETTLED');
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    expect(rails.facilitator.countOf('settle')).toBe(1);
  });

  test('returns 503 while the facilitator stays down, and a retry settles the payment once the facilitator is back', async () => {
    upstream.handle(async () => {
      await rails.facilitator.goDown();
      return { body: 'served' };
    });
    const headers = v2Headers(await sign(await rails.wallet(10_000n)));
    const answer = await ask(headers);
    expect(await errorOf(answer)).toEqual({ status: 503, code: 'PAYMENT_UNRESOLVED' });
    await rails.facilitator.comeUp();
    expect((await ask(headers)).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });
});

test('a payment for an earlier price is rejected two minutes after the price changed', async () => {
  const prices = await createShop(app, alice, { '/p': { upstreamUrl: `${upstream.url}/p`, priceUsd: '0.01' } });
  await alice.rest('PATCH', `${prices.base}/endpoints/${prices.ids['/p']}`, { priceUsd: '0.02' });
  await database.query(`UPDATE "PreviousPrice" SET "validUntil" = now() WHERE "endpointId" = $1`, [prices.ids['/p']]);
  const poor = await rails.wallet(0n);
  const refusal = async () => {
    const answer = await fetch(`${prices.url}/p`, { headers: v2Headers(await sign(poor)) });
    return decodeHeader(answer.headers.get('payment-required')).error;
  };
  // The row was changed directly, so the gateway notices only when it reloads the table.
  await expect.poll(refusal, { interval: 500 }).toBe('invalid_exact_evm_payload_authorization_value_mismatch');
});

// This runs last because it moves the chain's clock.
test('a payment fails if its authorization expires unused, and nothing is charged', async () => {
  rails.facilitator.misbehave('settle', (response) => void response.end('<html>'));
  const buyer = await rails.wallet(10_000n);
  const headers = v2Headers(await sign(buyer));
  const answer = await ask(headers);
  expect((await paymentOf(answer)).status).toBe('UNKNOWN');

  await rails.chain.client.increaseTime({ seconds: 200 });
  await rails.chain.client.mine({ blocks: 1 });

  await expect.poll(async () => (await paymentOf(answer)).status).toBe('FAILED');
  const payment = await paymentOf(answer);
  expect(payment).toMatchObject({ failureStage: 'SETTLE', failureReason: 'authorization_expired' });
  expect(await eventsOf(payment.id)).toEqual(['payment.verified', 'payment.failed']);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  const again = await ask(headers);
  expect(again.status).toBe(402);
  expect(decodeHeader(again.headers.get('payment-required')).error).toContain('authorization_expired');
});
