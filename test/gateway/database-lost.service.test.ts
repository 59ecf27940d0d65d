import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Misbehaviour } from './chain/facilitator-server.ts';
import { sign, v2Headers } from './sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from './support.ts';

let rails: Rails;
let database: TestDatabase;
let wire: CuttableProxy;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  database = await createTestDatabase();
  const url = new URL(database.url);
  wire = await startCuttableProxy(`http://${url.host}`);
  url.host = new URL(wire.url).host;
  app = await startTestApp({ env: rails.env, databaseUrl: url.href });
  shop = await createShop(app, await app.user('alice'), { '/weather': { upstreamUrl: `${upstream.url}/now` } });
});

beforeEach(async () => {
  wire.mend();
  await expect.poll(async () => (await fetch(`${app.url}/readyz`)).status).toBe(200);
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
  for (const operation of ['verify', 'settle'] as const) rails.facilitator.misbehave(operation, undefined);
});

afterAll(async () => {
  wire?.mend();
  await app?.stop();
  await wire?.close();
  await database?.drop();
  await upstream?.close();
  await rails?.close();
});

async function ask(headers: Record<string, string>) {
  const answer = await fetch(`${shop.url}/weather`, { headers });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

const cutting: Misbehaviour = async (response, real) => {
  wire.cut();
  response.end(JSON.stringify(await real()));
};

function cutBefore(answer: { statusCode?: number; body?: string }): void {
  upstream.handle(() => {
    wire.cut();
    return answer;
  });
}

describe('when the database becomes unreachable', () => {
  test('before a payment is claimed, the error tells the buyer to retry later', async () => {
    const payer = await rails.wallet(10_000n);
    const payment = v2Headers(await sign(payer));
    wire.cut();
    const { status, text, headers } = await ask(payment);
    expect([status, JSON.parse(text).code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '1']);
    expect(upstream.requests).toHaveLength(0);

    wire.mend();
    await expect.poll(async () => (await ask(payment)).status).toBe(200);
    expect(await rails.chain.balanceOf(payer.address)).toBe(0n);
  });

  test.each([
    ['while the facilitator is verifying', () => rails.facilitator.misbehave('verify', cutting), 0],
    ['while the upstream is working', () => cutBefore({ body: 'served' }), 1],
    ['while the upstream is failing', () => cutBefore({ statusCode: 500 }), 1],
  ])('%s, the error tells the buyer to retry the request and not to pay again', async (_when, arrange, calls) => {
    arrange();
    const payer = await rails.wallet(10_000n);
    const { status, text, headers } = await ask(v2Headers(await sign(payer)));
    expect([status, JSON.parse(text).code]).toEqual([503, 'PAYMENT_UNRESOLVED']);
    expect(decodeHeader(headers.get('payment-response'))).toMatchObject({ errorReason: 'settlement_pending' });
    expect(upstream.requests).toHaveLength(calls);
    expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
  });

  test('while the payment is being settled, the buyer still gets the response, and the settlement is recorded later', async () => {
    rails.facilitator.misbehave('settle', cutting);
    const payer = await rails.wallet(10_000n);
    const payment = v2Headers(await sign(payer));
    expect(await ask(payment)).toMatchObject({ status: 200, text: 'served' });
    wire.mend();
    await expect.poll(async () => (await ask(payment)).status).toBe(200);
    expect(await rails.chain.balanceOf(payer.address)).toBe(0n);
    expect(upstream.requests).toHaveLength(1);
  });
});
