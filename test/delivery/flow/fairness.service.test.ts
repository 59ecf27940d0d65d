import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { topics } from '../../../src/bus/bus.ts';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { type ReceiverHandler, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

let stage: Stage;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector", "RateLimit" CASCADE'));
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});
afterAll(() => stage.close());

async function receive(handler?: ReceiverHandler) {
  const receiver = await startReceiver(handler);
  cleanups.push(() => receiver.close());
  return receiver;
}

const start: Stage['startWorker'] = (...options) => {
  const worker = stage.startWorker(...options);
  cleanups.push(() => worker.stop());
  return worker;
};

const STUCK = { timeoutMilliseconds: 60_000, drainMilliseconds: 0 };

describe('a destination that never responds', () => {
  test('uses only its share of the slots, while everything for other destinations is delivered', async () => {
    const blackHole = await receive(() => undefined);
    const receiver = await receive();
    const dead = await stage.addWebhook(blackHole.url);
    await stage.addDeliveries(dead.id, 300);
    const others = await Promise.all(Array.from({ length: 20 }, () => stage.addWebhook(receiver.url)));
    const limits = { maxInFlight: 60, perDestination: 6, maxPerDestination: 12, claimedAhead: 6, claimBatch: 30 };
    start({ ...limits, ...STUCK });
    await blackHole.waitFor(12);
    for (const { id } of others) await stage.addDeliveries(id, 10);
    stage.bus.publish(topics.deliveriesDue);
    await until(async () => (await stage.countBy('SUCCEEDED')) === 200);
    expect(blackHole.requests).toHaveLength(12);
    // Twelve deliveries are in flight, and six more are claimed and waiting.
    expect(await stage.countBy('RUNNING')).toBe(18);
  });
});

describe('retries', () => {
  test('leave room for first attempts, no matter how many retries are due and how long they take', async () => {
    const stuck = await receive(() => undefined);
    const receiver = await receive();
    for (let index = 0; index < 10; index++) {
      const { id } = await stage.addWebhook(`${stuck.url}/${index}`);
      const retry = { attemptCount: 1, retryStep: 1, nextAttemptAt: new Date(Date.now() - 60_000) };
      for (let count = 0; count < 10; count++) await stage.addDelivery(id, retry);
    }
    start({ maxInFlight: 40, perDestination: 10, maxPerDestination: 10, claimedAhead: 0, ...STUCK });
    // Three quarters of the 30 slots that one account can use.
    await stuck.waitFor(22);
    const fresh = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(fresh.id, 50);
    stage.bus.publish(topics.deliveriesDue);
    await until(async () => (await stage.countBy('SUCCEEDED')) === 50);
    expect(stuck.requests).toHaveLength(22);
  });
});

describe('maxPerSecond', () => {
  test('spreads deliveries over time without losing any', async () => {
    const times: number[] = [];
    const receiver = await receive(() => {
      times.push(performance.now());
      return {};
    });
    const webhook = await stage.addWebhook(receiver.url, { maxPerSecond: 40 });
    const ids = await stage.addDeliveries(webhook.id, 40);
    const startedAt = performance.now();
    for (let count = 0; count < 2; count++) start();
    await until(async () => (await stage.countBy('SUCCEEDED')) === 40);
    expect(receiver.requests).toHaveLength(40);
    // There are 39 intervals of 25 ms between the first slot and the last. Timers may be a little early.
    expect(times.at(-1)! - startedAt).toBeGreaterThan(39 * 25 - 20);
    for (const id of ids) expect(await stage.delivery(id)).toMatchObject({ attemptCount: 1, reason: null });
  });

  test('limits when requests start, not how long they take', async () => {
    const receiver = await receive(() => undefined);
    const webhook = await stage.addWebhook(receiver.url, { maxPerSecond: 20 });
    await stage.addDeliveries(webhook.id, 20);
    start(STUCK);
    // Each reservation covers a quarter of a second's worth of slots.
    await receiver.waitFor(20);
  });

  test('does not delay other destinations', async () => {
    const receiver = await receive();
    const limited = await stage.addWebhook(`${receiver.url}/limited`, { maxPerSecond: 1 });
    await stage.addDeliveries(limited.id, 30);
    const free = await stage.addWebhook(`${receiver.url}/free`);
    await stage.addDeliveries(free.id, 30);
    start();
    await receiver.waitFor(() => receiver.requests.filter(({ path }) => path === '/free').length === 30);
    // At most a few deliveries got a slot. The others wait in the queue with a reason.
    await until(async () => (await stage.countBy('RUNNING')) === 0);
    const { rows } = await stage.pool.query(
      `SELECT DISTINCT "status", "attemptCount", "reason" FROM "Delivery" WHERE "webhookId" = $1 AND "status" <> 'SUCCEEDED'`,
      [limited.id],
    );
    expect(rows).toEqual([{ status: 'PENDING', attemptCount: 0, reason: 'rate_limited' }]);
  });
});

describe('a destination that asks for fewer requests', () => {
  test('gets no other request until the time it asked for, while other destinations get theirs', async () => {
    const receiver = await receive(({ path }) =>
      path === '/busy' ? { statusCode: 429, headers: { 'retry-after': '3600' } } : {},
    );
    const busy = await stage.addWebhook(`${receiver.url}/busy`);
    const ids = await stage.addDeliveries(busy.id, 6);
    start({ perDestination: 1, maxPerDestination: 1, claimedAhead: 5 });
    const other = await stage.addWebhook(`${receiver.url}/other`);
    await stage.deliveryIs(await stage.addDelivery(other.id), 'SUCCEEDED');
    for (const id of ids) {
      await until(async () => {
        const { status, reason } = await stage.delivery(id);
        return status === 'PENDING' && reason === 'rate_limited';
      });
    }
    const waits = await stage.pool.query<{ seconds: number; attemptCount: number }>(
      `SELECT extract(epoch FROM "nextAttemptAt" - now())::float8 AS "seconds", "attemptCount"
       FROM "Delivery" WHERE "webhookId" = $1 ORDER BY "attemptCount"`,
      [busy.id],
    );
    expect(waits.rows.map(({ attemptCount }) => attemptCount)).toEqual([0, 0, 0, 0, 0, 1]);
    for (const { seconds } of waits.rows) expect(seconds).toBeGreaterThan(3_000);
    expect(receiver.requests.filter(({ path }) => path === '/busy')).toHaveLength(1);
  });

  test('gets requests again once its owner has changed it, for example, its URL', async () => {
    const receiver = await receive(({ path }) =>
      path === '/busy' ? { statusCode: 429, headers: { 'retry-after': '86400' } } : {},
    );
    const { id } = await stage.addWebhook(`${receiver.url}/busy`);
    const limited = await stage.addDelivery(id);
    start();
    await until(async () => (await stage.delivery(limited)).reason === 'rate_limited');
    const url = `${receiver.url}/idle`;
    await stage.pool.query(`UPDATE "Webhook" SET "url" = $2, "updatedAt" = now() WHERE "id" = $1`, [id, url]);
    await stage.deliveryIs(await stage.addDelivery(id), 'SUCCEEDED');
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/busy', '/idle']);
  });
});

describe("a destination's circuit", () => {
  const LATER = { retryScheduleSeconds: [600] };

  test('opens after several failures in a row, while waiting deliveries stay in the queue', async () => {
    const receiver = await receive(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 60);
    start({ perDestination: 8, maxPerDestination: 8, ...LATER });
    await until(async () => (await stage.webhook(webhook.id)).circuitOpenUntil !== null);
    await until(async () => (await stage.countBy('RUNNING')) === 0);
    const sent = receiver.requests.length;
    expect(sent).toBeLessThan(30);
    const { rows } = await stage.pool.query(
      `SELECT count(*)::int AS n FROM "Delivery" WHERE "status" = 'PENDING' AND "attemptCount" = 0`,
    );
    expect(rows[0].n).toBe(60 - sent);
  });

  test('is shared with other processes, which put their claimed deliveries back with the reason', async () => {
    const receiver = await receive();
    const circuitOpenUntil = new Date(Date.now() + 600_000);
    const webhook = await stage.addWebhook(receiver.url, { circuitOpenUntil });
    const id = await stage.addDelivery(webhook.id);
    start();
    await until(async () => (await stage.delivery(id)).reason === 'circuit_open');
    const delivery = await stage.delivery(id);
    expect(delivery).toMatchObject({ status: 'PENDING', attemptCount: 0, retryStep: 0 });
    expect((delivery.nextAttemptAt as Date).getTime()).toBeGreaterThan(Date.now());
    expect(receiver.requests).toHaveLength(0);
  });

  test('lets manual deliveries through immediately, and closes when one succeeds', async () => {
    let isUp = false;
    const receiver = await receive(() => ({ statusCode: isUp ? 200 : 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    const ids = await stage.addDeliveries(webhook.id, 40);
    start({ perDestination: 8, maxPerDestination: 8, pollMilliseconds: 3_600_000, ...LATER });
    await until(async () => (await stage.webhook(webhook.id)).circuitOpenUntil !== null);
    await until(async () => (await stage.countBy('RUNNING')) === 0);
    isUp = true;
    const untried = await stage.pool.query<{ id: string }>(
      `SELECT "id" FROM "Delivery" WHERE "attemptCount" = 0 LIMIT 1`,
    );
    const id = untried.rows[0]!.id;
    expect(ids).toContain(id);
    await requeue(stage.pool, id);
    stage.bus.publish(topics.deliveriesDue);
    await stage.deliveryIs(id, 'SUCCEEDED');
    await until(async () => (await stage.webhook(webhook.id)).circuitOpenUntil === null);
  });

  test('half-opens after a while, and everything that waited is delivered once the host is back', async () => {
    let failures = 0;
    const receiver = await receive(() => ({ statusCode: failures++ < 5 ? 500 : 200 }));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 30);
    start({ perDestination: 5, maxPerDestination: 5, retryScheduleSeconds: [0.05] });
    await until(async () => (await stage.countBy('SUCCEEDED')) === 30);
    const { rows } = await stage.pool.query(`SELECT count(DISTINCT "deliveryId")::int AS n FROM "Attempt"`);
    expect(rows[0].n).toBe(30);
    expect(receiver.requests).toHaveLength(35);
    expect(await stage.webhook(webhook.id)).toMatchObject({ circuitOpenUntil: null, failingSince: null });
  });
});
