import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

const CENT = 10_000n;

let stage: AttackStage;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/reports': { priceUsd: '0.05' }, '/orders': {} }, gatewayCount: 2 });
});
beforeEach(() => {
  stage.upstream.requests.length = 0;
});
afterAll(() => stage?.close());

const settledCount = async () => (await stage.totals()).settledCount;

/** Sends requests through all processes, and disconnects once the upstream has all of them. */
async function hangUp(path: string, requests: RequestInit[]): Promise<void> {
  const wanted = stage.upstream.requests.length + requests.length;
  const gone = new AbortController();
  const asked = requests.map((request, index) =>
    fetch(stage.urls[index % 2]! + path, { ...request, signal: gone.signal }).catch(() => {}),
  );
  await stage.upstream.waitFor(wanted, 60_000);
  gone.abort();
  await Promise.all(asked);
}

test('if a buyer hangs up a hundred times after the upstream has received the request, there are a hundred upstream calls and a hundred payments', async () => {
  const before = await settledCount();
  const buyer = await stage.rails.wallet(100n * 5n * CENT);
  // Sends the payments in waves, because a busy machine is too slow to verify a hundred at the same time.
  for (let wave = 0; wave < 10; wave++) {
    const { promise: areGone, resolve: gone } = Promise.withResolvers<void>();
    stage.upstream.handle(async () => {
      await areGone;
      return { body: 'reported' };
    });
    const payments = await Promise.all(Array.from({ length: 10 }, () => sign(buyer, { value: '50000' })));
    await hangUp(
      '/reports',
      payments.map((payment) => ({ headers: v2Headers(payment) })),
    );
    gone();
  }

  await expect.poll(settledCount, { interval: 250 }).toBe(before + 100);
  expect(await stage.rails.chain.balanceOf(buyer.address)).toBe(0n);
  expect(stage.upstream.requests).toHaveLength(100);
});

test('if a buyer hangs up after sending twenty orders, each order is executed once and paid for once, and the buyer can still fetch each response', async () => {
  stage.upstream.handle(({ body }) => ({ statusCode: 201, body: `ordered ${body}` }));
  const before = await settledCount();
  const buyer = await stage.rails.wallet(21n * CENT);
  const orders: { method: string; headers: Record<string, string>; body: string }[] = [];
  for (let index = 0; index < 20; index++) {
    const order = { method: 'POST', headers: v2Headers(await sign(buyer)), body: `{"order":${index}}` };
    await hangUp('/orders', [order]);
    orders.push(order);
  }
  await expect.poll(settledCount, { interval: 250 }).toBe(before + 20);

  for (const order of orders) {
    const retried = await fetch(`${stage.urls[1]}/orders`, order);
    expect([retried.status, await retried.text()]).toEqual([201, `ordered ${order.body}`]);
  }
  expect(stage.upstream.requests).toHaveLength(20);
  expect(await stage.rails.chain.balanceOf(buyer.address)).toBe(CENT);
});
