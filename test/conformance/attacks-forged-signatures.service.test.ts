import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBus } from '../../src/bus/bus.ts';
import { openDatabase } from '../../src/database/client.ts';
import { behindWall } from '../../src/database/tenant-client.ts';
import { createEventService } from '../../src/features/events/service.ts';
import { createDailySummaries } from '../../src/features/revenue/daily-summary.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createWebhook } from '../support/resources.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

const DAY_MILLISECONDS = 86_400_000;

let stage: AttackStage;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/weather': {} }, gatewayCount: 2 });
  await createWebhook(stage.seller, stage.shop.base, { url: `${stage.upstream.url}/hook`, eventTypes: ['*'] });
});
afterAll(() => stage?.close());

/** The types of the project's events, in any order. */
async function eventTypes(): Promise<string[]> {
  const { body } = await stage.seller.rest<{ data: { type: string }[] }>('GET', `${stage.shop.base}/events?limit=100`);
  return body.data.map(({ type }) => type).sort();
}

async function customerCount(): Promise<number> {
  const { body } = await stage.seller.rest<{ data: object[] }>('GET', `${stage.shop.base}/customers`);
  return body.data.length;
}

/** Records daily summaries, as the service would do tomorrow. */
async function summarizeTomorrow(): Promise<void> {
  const log = pino({ level: 'silent' });
  const db = await openDatabase({ url: stage.app.databaseUrl, poolSize: 2, log });
  const bus = await openBus({ url: stage.app.databaseUrl, pool: db.pool, log });
  const now = () => new Date(Date.now() + DAY_MILLISECONDS);
  await createDailySummaries({ db, events: createEventService({ db: behindWall(db), bus }), log, now }).run();
  await bus.close();
  await db.close();
}

test("of 600 forged payments in a wallet's name, sent at the same time through two processes, at most 60 a minute are verified, and the seller gets no events, customers, or daily summary", async () => {
  const { rails, upstream, urls, totals } = stage;
  const ask = (index: number, headers: Record<string, string>) =>
    fetch(`${urls[index % 2]}/weather`, { headers }).then(({ status }) => status);
  const before = await eventTypes();
  const victim = await rails.wallet();
  const { signature } = await sign(victim);
  const forged = await Promise.all(
    Array.from({ length: 600 }, async () => v2Headers({ ...(await sign(victim)), signature })),
  );
  const startedAt = performance.now();

  const statuses = await Promise.all(forged.map((headers, index) => ask(index, headers)));

  // The limit for one minute, plus what refills during the test.
  const refilled = Math.ceil((performance.now() - startedAt) / 1000);
  const verified = rails.facilitator.countOf('verify');
  expect(verified).toBeGreaterThanOrEqual(60);
  expect(verified).toBeLessThanOrEqual(60 + refilled);
  expect(new Set(statuses)).toEqual(new Set([402, 429]));
  expect(statuses.filter((status) => status === 402)).toHaveLength(verified);
  expect(await rails.chain.balanceOf(victim.address)).toBe(1_000_000n);

  await summarizeTomorrow();
  expect(await eventTypes()).toEqual(before);
  expect(await customerCount()).toBe(0);
  expect(await totals()).toEqual({ paymentCount: 0, settledCount: 0, failedCount: 0 });
  expect(upstream.requests.filter(({ path }) => path !== '/hook')).toEqual([]);

  // Shows that the checks above would notice a real payment. It still works, even from the same address.
  const bought = async () => ask(0, v2Headers(await sign(await rails.wallet(10_000n))));
  await expect.poll(bought, { interval: 1_000 }).toBe(200);
  await summarizeTomorrow();
  const sale = ['customer.first_payment', 'payment.settled', 'payment.verified', 'revenue.daily_summary'];
  expect(await eventTypes()).toEqual([...before, ...sale].sort());
  expect(await customerCount()).toBe(1);
  const told = async () => upstream.requests.filter(({ path }) => path === '/hook').length;
  await expect.poll(told).toBe(sale.length);
});
