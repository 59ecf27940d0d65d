import type { ServerResponse } from 'node:http';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { startGatewayProcess } from '../gateway-processes.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from '../support.ts';

type PaymentBody = { status: string; failureStage: string; failureReason: string; failureMessage: string };

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
/** The time of the gateway's clock, which only tests move, so that a busy machine doesn't use up time limits. */
let time = Date.now();
/** What the gateway has logged. A failed assertion shows it. */
const warnings: string[] = [];

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  app = await startTestApp({ env: rails.env, now: () => new Date(time), log });
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/quick': { upstreamUrl: `${upstream.url}/now`, timeoutSeconds: 5 },
  });
});

beforeEach(() => {
  time = Date.now();
  warnings.length = 0;
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
  rails.facilitator.calls.length = 0;
  rails.facilitator.misbehave('verify', undefined);
  rails.facilitator.misbehave('settle', undefined);
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function ask(headers: Record<string, string>, url = shop.url, path = '/weather') {
  const answer = await fetch(url + path, { headers });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

async function paymentOf({ headers }: { headers: Headers }): Promise<PaymentBody> {
  const id = headers.get('tollgate-payment-id');
  return (await alice.rest<PaymentBody>('GET', `${shop.base}/payments/${id}`)).body;
}

/**
 * Makes the first settlement attempts fail. With `settlesFirst`, the payment is settled before each failure.
 *
 * @returns the results of the settlements before failures.
 */
function failSettlements(count: number, fail: (response: ServerResponse) => unknown, settlesFirst = false): unknown[] {
  let failures = 0;
  const settled: unknown[] = [];
  rails.facilitator.misbehave('settle', async (response, real) => {
    if (failures++ < count) {
      if (settlesFirst) settled.push(await real().catch(String));
      fail(response);
    } else {
      response.end(JSON.stringify(await real()));
    }
  });
  return settled;
}

/** Lets an open payment settle, so that the gateway doesn't send it again during the next test. */
async function settleAtLast(payment: Record<string, string>, path?: string): Promise<void> {
  rails.facilitator.misbehave('settle', undefined);
  time = Date.now();
  await expect.poll(async () => (await ask(payment, shop.url, path)).status).toBe(200);
}

const failing =
  (statusCode: number, headers = {}) =>
  (response: ServerResponse) =>
    response.writeHead(statusCode, headers).end('{"error":"busy"}');
const reset = (response: ServerResponse) => response.destroy();

describe('a settlement that a buyer is waiting for', () => {
  test.each([
    ['one 503', 1, failing(503), 2],
    ['three 502s', 3, failing(502), 4],
    ['a lost connection', 1, reset, 2],
    ['a 429 with Retry-After', 1, failing(429, { 'retry-after': '1' }), 2],
  ] as const)('is retried after %s, and the buyer is charged once', async (_what, count, fail, settlements) => {
    failSettlements(count, fail);
    const buyer = await rails.wallet(20_000n);
    const answer = await ask(v2Headers(await sign(buyer)));
    expect(answer).toMatchObject({ status: 200, text: 'served' });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
    expect(upstream.requests).toHaveLength(1);
    expect(rails.facilitator.countOf('settle')).toBe(settlements);
    expect((await paymentOf(answer)).status).toBe('SETTLED');
  });

  test("isn't retried if the chain already has the transfer", async () => {
    const settled = failSettlements(1, failing(503), true);
    const buyer = await rails.wallet(20_000n);
    const { status } = await ask(v2Headers(await sign(buyer)));
    expect(settled).toMatchObject([{ success: true }]);
    expect(status, warnings.join('')).toBe(200);
    expect(rails.facilitator.countOf('settle')).toBe(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test("isn't failed by a clear rejection after a failed attempt, because that attempt may reach the chain", async () => {
    let attempts = 0;
    rails.facilitator.misbehave('settle', (response) => {
      if (attempts++ === 0) response.writeHead(503).end();
      else response.end(JSON.stringify({ success: false, errorReason: 'insufficient_funds', transaction: '' }));
    });
    const buyer = await rails.wallet(20_000n);
    const payment = v2Headers(await sign(buyer));
    const answer = await ask(payment);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([503, 'PAYMENT_UNRESOLVED']);
    rails.facilitator.misbehave('settle', undefined);
    expect(await ask(payment)).toMatchObject({ status: 200, text: 'served' });
    expect(upstream.requests).toHaveLength(1);
  });

  test('is retried no longer than the authorization allows', async () => {
    // The gateway's clock is ahead of the chain's, where the authorization stays valid however long this test takes.
    const startSeconds = Math.floor(Date.now() / 1000) + 300;
    time = startSeconds * 1000;
    failSettlements(100, (response) => {
      time += 4_000;
      failing(503)(response);
    });
    const validBefore = String(startSeconds + 20);
    const payment = v2Headers(await sign(await rails.wallet(), { validBefore }));
    const answer = await ask(payment, shop.url, '/quick');
    expect(answer.status).toBe(503);
    // 10 seconds must be left for the settlement. Otherwise, the buyer would wait for up to 15 seconds.
    expect(rails.facilitator.countOf('settle')).toBe(3);
    await settleAtLast(payment, '/quick');
  });

  test("isn't retried if the facilitator's Retry-After is longer than the buyer's wait", async () => {
    failSettlements(100, failing(503, { 'retry-after': '16' }));
    const payment = v2Headers(await sign(await rails.wallet()));
    const answer = await ask(payment);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([503, 'PAYMENT_UNRESOLVED']);
    expect(rails.facilitator.countOf('settle')).toBe(1);
    await settleAtLast(payment);
  });

  test('is resolved if the process dies between attempts, and the buyer is charged once', async () => {
    const gateway = await startGatewayProcess(app, rails);
    const { promise: failed, resolve } = Promise.withResolvers<void>();
    failSettlements(100, (response) => {
      failing(503, { 'retry-after': '8' })(response);
      resolve();
    });
    const buyer = await rails.wallet(20_000n);
    const payment = v2Headers(await sign(buyer));
    const asked = ask(payment, `${gateway.url}/gateway/${shop.projectId}`).catch(() => undefined);
    await failed;
    await gateway.end('SIGKILL');
    expect(await asked).toBeUndefined();
    rails.facilitator.misbehave('settle', undefined);

    const text = async () => (await ask(payment)).text;
    await expect.poll(text, { interval: 500 }).toBe('served');
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });
});

describe('a facilitator that rejects our requests', () => {
  const rejecting = (statusCode: number) => (response: ServerResponse) =>
    void response.writeHead(statusCode).end('{"errorType":"unauthorized"}');

  test('makes the payment fail after one settlement attempt', async () => {
    failSettlements(100, rejecting(401));
    const buyer = await rails.wallet(10_000n);
    const answer = await ask(v2Headers(await sign(buyer)));
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([502, 'FACILITATOR_REJECTED']);
    expect(decodeHeader(answer.headers.get('payment-response'))).toMatchObject({ errorReason: 'facilitator_rejected' });
    expect(answer.headers.get('payment-required')).toBeNull();
    expect(rails.facilitator.countOf('settle')).toBe(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
    expect(await paymentOf(answer)).toMatchObject({
      status: 'FAILED',
      failureStage: 'SETTLE',
      failureReason: 'facilitator_rejected',
      failureMessage: 'The facilitator responded with status 401: {"errorType":"unauthorized"}',
    });
  });

  test("doesn't make the payment fail if the chain has the transfer", async () => {
    const settled = failSettlements(1, rejecting(404), true);
    const buyer = await rails.wallet(10_000n);
    const answer = await ask(v2Headers(await sign(buyer)));
    expect(settled).toMatchObject([{ success: true }]);
    expect(answer, warnings.join('')).toMatchObject({ status: 200, text: 'served' });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });
});
