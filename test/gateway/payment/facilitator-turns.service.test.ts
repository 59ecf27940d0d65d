import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Misbehaviour } from '../../gateway/chain/facilitator-server.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { accepted, encode, type Signed, sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const BUYER = '203.0.113.1';
const SELLER_BUYING = '203.0.113.2';
/** The facilitator rejects all other calls until one of these has ended. */
const CALLS_AT_ONCE = 2;

let rails: Rails;
let upstream: Receiver;
let app: TestApp;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: 'served' }));
  app = await startTestApp({ env: { ...rails.env, TRUSTED_PROXIES: '127.0.0.1' } });
  shop = await createShop(app, await app.user('seller'), { '/weather': { upstreamUrl: `${upstream.url}/weather` } });
});
afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

function limitCalls(): { refused(): number } {
  let running = 0;
  let refused = 0;
  const limited: Misbehaviour = async (response, real) => {
    if (running >= CALLS_AT_ONCE) {
      refused += 1;
      return void response.writeHead(429).end();
    }
    running += 1;
    const result = await real().finally(() => (running -= 1));
    response.end(JSON.stringify(result));
  };
  for (const operation of ['verify', 'settle'] as const) rails.facilitator.misbehave(operation, limited);
  return { refused: () => refused };
}

async function statusOf(url: string, from: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(url, { headers: { ...headers, 'x-forwarded-for': from } });
  await response.text();
  return response.status;
}

/** The wallet's calls get no response until `end` is called. */
function stall(wallet: PrivateKeyAccount) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let stalled = 0;
  const stalling: Misbehaviour = async (response, real, { paymentPayload }) => {
    const { authorization } = paymentPayload.payload as Signed;
    if (authorization.from.toLowerCase() === wallet.address.toLowerCase()) {
      stalled += 1;
      await ended;
    }
    response.end(JSON.stringify(await real()));
  };
  for (const operation of ['verify', 'settle'] as const) rails.facilitator.misbehave(operation, stalling);
  return { stalled: () => stalled, end };
}

/** An account that buys from itself for a millionth of a dollar, which comes back. */
async function openOwnShop(subject = 'self') {
  const wallet = await rails.wallet(300n);
  const owner = await app.user(subject, 'STARTER');
  const fields = { name: 'Own', walletAddress: wallet.address };
  const { body } = await owner.rest<{ id: string }>('POST', '/api/projects', fields);
  const endpoint = { path: '/own', upstreamUrl: `${upstream.url}/own`, priceUsd: '0.000001' };
  await owner.rest('POST', `/api/projects/${body.id}/endpoints`, endpoint);
  return { wallet, url: `${app.url}/gateway/${body.id}/own` };
}

async function buyOwn({ wallet, url }: { wallet: PrivateKeyAccount; url: string }): Promise<number> {
  const payload = await sign(wallet, { to: wallet.address, value: '1' });
  const offered = { ...accepted('1'), payTo: wallet.address };
  return statusOf(url, SELLER_BUYING, {
    'payment-signature': encode({ x402Version: 2, accepted: offered, payload }),
  });
}

/** Buys from itself, 30 at a time, until `end` is called. Resolves once the facilitator has rejected calls. */
async function floodUntilRejected(own: Awaited<ReturnType<typeof openOwnShop>>) {
  const { refused } = limitCalls();
  let isOver = false;
  const flood = Array.from({ length: 30 }, async () => {
    while (!isOver) await buyOwn(own);
  });
  await expect.poll(refused).toBeGreaterThan(0);
  return {
    async end() {
      isOver = true;
      await Promise.all(flood);
    },
  };
}

async function buyEightTimes(buyer: PrivateKeyAccount): Promise<number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < 8; count++)
    statuses.push(await statusOf(`${shop.url}/weather`, BUYER, v2Headers(await sign(buyer))));
  return statuses;
}

test("an account that keeps buying from itself doesn't use up the facilitator's rate limit, and others sell", async () => {
  const own = await openOwnShop();
  const buyer = await rails.wallet(1_000_000n);
  const flood = await floodUntilRejected(own);

  const statuses = await buyEightTimes(buyer);
  await flood.end();
  expect(statuses).toEqual(Array(8).fill(200));
  expect(await rails.chain.balanceOf(buyer.address)).toBe(920_000n);
});

test("after the facilitator has rejected calls, an account whose calls get no response doesn't keep others from selling", async () => {
  const own = await openOwnShop('stalling');
  const buyer = await rails.wallet(1_000_000n);
  const flood = await floodUntilRejected(own);
  const { stalled, end } = stall(own.wallet);
  await expect.poll(stalled).toBeGreaterThan(0);

  const statuses = await buyEightTimes(buyer);
  end();
  await flood.end();
  expect(statuses).toEqual(Array(8).fill(200));
});
