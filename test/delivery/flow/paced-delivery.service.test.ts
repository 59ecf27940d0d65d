import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { topics } from '../../../src/bus/bus.ts';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { pace } from '../../support/pace.ts';
import { type Receiver, type ReceiverHandler, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../support.ts';
import { batchType } from './batch-type.ts';

let stage: Stage;
let receiver: Receiver;
let cleanups: (() => unknown)[] = [];
/** The time at which each request arrived, in milliseconds. */
let times: number[];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  await stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector", "RateLimit" CASCADE');
  receiver = await startReceiver();
  times = [];
  answer(() => ({}));
});
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
  await receiver.close();
});
afterAll(() => stage.close());

const start: Stage['startWorker'] = (...options) => {
  const worker = stage.startWorker(...options);
  cleanups.push(() => worker.stop());
  return worker;
};

function answer(handler: ReceiverHandler): void {
  receiver.handle((...request) => {
    times.push(performance.now());
    return handler(...request);
  });
}

const addWebhook = (maxPerSecond: number, values: Record<string, unknown> = {}) =>
  stage.addWebhook(receiver.url, { maxPerSecond, ...values }).then(({ id }) => id);
const setRate = (id: string, maxPerSecond: number | null) =>
  stage.pool.query(`UPDATE "Webhook" SET "maxPerSecond" = $2 WHERE "id" = $1`, [id, maxPerSecond]);
const succeeded = (count: number) => expect.poll(() => stage.countBy('SUCCEEDED')).toBe(count);

/**
 * Expects that no request arrived before its slot. The first slot isn't before `from`. A request may be late on a busy
 * machine, so the time between two requests can be shorter than an interval.
 */
function expectSlots(arrivals: readonly number[], from: number, intervalMilliseconds: number): void {
  const MARGIN_OF_TIMERS = 20;
  for (const [index, time] of arrivals.entries()) {
    expect(time - from).toBeGreaterThan(index * intervalMilliseconds - MARGIN_OF_TIMERS);
  }
}

/** A pool that records for how many slots a process asks, at what interval, and how many it gets. */
function recordReservations() {
  const reservations: { interval: unknown; slots: number }[] = [];
  async function query(statement: string | pg.QueryConfig, values?: unknown[]) {
    const result = await stage.pool.query(statement as string, values);
    if (typeof statement === 'object' && statement.name === 'delivery_reserve') {
      const [, interval, wanted] = statement.values!;
      reservations.push({ interval, slots: result.rows.length > 0 ? Number(wanted) : 0 });
    }
    return result;
  }
  const pool = { query, connect: () => stage.pool.connect() } as unknown as pg.Pool;
  return { pool, reservations, granted: () => reservations.reduce((sum, { slots }) => sum + slots, 0) };
}

/** Adds deliveries that came due one second apart, and returns their IDs and their events' IDs in that order. */
async function addBacklog(destinationId: string, count: number, values: Record<string, unknown> = {}) {
  const from = Date.now() - 100_000;
  const backlog: { id: string; eventId: string }[] = [];
  for (let index = 0; index < count; index++) {
    const nextAttemptAt = new Date(from + index * 1_000);
    const id = await stage.addDelivery(destinationId, { ...values, nextAttemptAt });
    backlog.push({ id, eventId: (await stage.delivery(id)).eventId as string });
  }
  return backlog;
}

const addConnector = () => stage.addConnector('dune', { url: receiver.url });
const batches = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()) as string[]);

describe('deliveries without a slot', () => {
  test('keep their due times, and are parked', async () => {
    const id = await addWebhook(0.01);
    const backlog = await addBacklog(id, 8);
    const due = await Promise.all(backlog.map(async (entry) => (await stage.delivery(entry.id)).nextAttemptAt));
    for (let count = 0; count < 3; count++) start();
    await succeeded(1);
    await expect.poll(() => stage.countBy('RUNNING')).toBe(0);
    const rest = await Promise.all(backlog.map((entry) => stage.delivery(entry.id)));
    expect(rest.filter(({ status }) => status === 'SUCCEEDED')).toMatchObject([{ id: backlog[0]!.id }]);
    for (const [index, { status, ...row }] of rest.entries()) {
      if (status !== 'SUCCEEDED') expect(row).toMatchObject({ isParked: true, nextAttemptAt: due[index] });
    }
  });

  test('are sent in order by several processes', async () => {
    const id = await addWebhook(5);
    const backlog = await addBacklog(id, 25);
    for (let count = 0; count < 3; count++) start();
    await succeeded(25);
    const order = receiver.requests.map(({ headers }) => headers['webhook-id']);
    const positions = backlog.map(({ eventId }) => order.indexOf(eventId));
    // Each of the three processes holds at most a few deliveries that have no slot yet.
    for (const [index, position] of positions.entries()) expect(Math.abs(position - index)).toBeLessThanOrEqual(9);
  });
});

describe('a changed rate', () => {
  test.each([20, null])('applies immediately, no matter how far away the next slot is: %s', async (rate) => {
    const id = await addWebhook(0.01);
    await stage.addDeliveries(id, 6);
    for (let count = 0; count < 2; count++) start();
    await succeeded(1);
    await expect.poll(() => stage.countBy('RUNNING')).toBe(0);
    await setRate(id, rate);
    stage.bus.publish(topics.paces);
    await succeeded(6);
  });

  test('applies immediately if it is lower', async () => {
    const id = await addWebhook(10);
    await stage.addDeliveries(id, 200);
    const { pool, reservations, granted } = recordReservations();
    start({}, { pool });
    await receiver.waitFor(5);
    await setRate(id, 0.01);
    const before = granted();
    stage.bus.publish(topics.paces);
    await expect.poll(() => reservations.at(-1)).toEqual({ interval: 100, slots: 0 });
    await expect.poll(() => stage.countBy('RUNNING')).toBe(0);
    // Only deliveries with a slot were sent. Those that had been claimed could still get one: up to three of one claim
    // that had asked, and three of another that was running.
    expect(granted() - before).toBeLessThanOrEqual(6);
    expect(receiver.requests).toHaveLength(granted());
    // By the time that this delivery has been claimed and sent, another one would have been, too.
    const { id: unlimited } = await stage.addWebhook(receiver.url);
    await stage.deliveryIs(await stage.addDelivery(unlimited), 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(granted() + 1);
  });
});

test('requests that wait for others to end are still an interval apart', async () => {
  let endedAt = Number.POSITIVE_INFINITY;
  answer(async (_request, _response, index) => {
    if (index > 0) return {};
    // The slots of several requests pass.
    await pace(2_500);
    endedAt = performance.now();
    return {};
  });
  await stage.addDeliveries(await addWebhook(2), 6);
  start({ perDestination: 1, maxPerDestination: 1, claimedAhead: 10 });
  await succeeded(6);
  expectSlots(times.slice(1), endedAt, 500);
});

/** Runs in one transaction, so that a worker can't mistake a replay for a delivery that was resent manually. */
async function resend(id: string, { isReplay }: { isReplay: boolean }): Promise<void> {
  const client = await stage.pool.connect();
  await client.query('BEGIN');
  await requeue(client, id);
  await client.query('UPDATE "Delivery" SET "isReplay" = $2 WHERE "id" = $1', [id, isReplay]);
  await client.query('COMMIT');
  client.release();
}

describe('a test event and a resent delivery', () => {
  /** Simulates that the interval to the next slot has passed. */
  async function openSlot(): Promise<void> {
    await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - interval '100 seconds'`);
    stage.bus.publish(topics.paces);
  }

  test.each([true, false])(
    'are sent before a backlog that is waiting for slots, but a replay is not (replay: %s)',
    async (isReplay) => {
      const id = await addWebhook(0.01);
      const old = await stage.addDelivery(id, { status: 'SUCCEEDED', nextAttemptAt: null, attemptCount: 1 });
      await addBacklog(id, 30);
      start();
      await receiver.waitFor(1);
      const fresh = await stage.addDelivery(id, { trigger: 'MANUAL', isReplay });
      await resend(old, { isReplay });
      stage.bus.publish(topics.deliveriesDue);
      const added = () => Promise.all([fresh, old].map((delivery) => stage.delivery(delivery)));
      await expect.poll(added).toMatchObject([{ isParked: true }, { isParked: true }]);
      for (let count = 2; count <= 3; count++) {
        await expect.poll(() => stage.countBy('RUNNING')).toBe(0);
        await openSlot();
        await receiver.waitFor(count);
      }
      const next = receiver.requests.slice(1).map(({ headers }) => headers['webhook-id']);
      const isSent = (await added()).map(({ eventId }) => next.includes(eventId as string));
      expect(isSent).toEqual([!isReplay, !isReplay]);
    },
  );
});

describe('a batch', () => {
  test('takes a slot for each part if it is split', async () => {
    answer((request) => ({ statusCode: request.body.toString().includes(poison) ? 422 : 200 }));
    const connector = await addConnector();
    const poison = (await addBacklog(connector, 8))[0]!.eventId;
    const startedAt = performance.now();
    start({}, batchType(8, { count: 2 }));
    await succeeded(7);
    expect(batches().map(({ length }) => length)).toEqual([8, 4, 2, 1, 1, 2, 4]);
    expectSlots(times, startedAt, 600);
  });

  test('is filled, even with more deliveries than a claim usually takes', async () => {
    await stage.addDeliveries(await addConnector(), 100);
    start({ claimBatch: 8, perDestination: 8, maxPerDestination: 8, claimedAhead: 0 }, batchType(40, { count: 3 }));
    await succeeded(100);
    // The first claim is made before the connector's type is known. Later claims fill each request.
    expect(batches().map(({ length }) => length)).toEqual([8, 40, 40, 12]);
  });

  test('is filled, even with more deliveries than one origin may have in flight', async () => {
    await stage.addDeliveries(await addConnector(), 40);
    start({ maxPerOrigin: 8 }, batchType(40, { count: 3 }));
    await succeeded(40);
    expect(batches().map(({ length }) => length)).toEqual([40]);
  });
});

describe('requests that must not overlap', () => {
  test('run one after the other, across processes', async () => {
    let running = 0;
    let most = 0;
    answer(async () => {
      most = Math.max(most, ++running);
      await pace(100);
      running--;
      return {};
    });
    await stage.addDeliveries(await addConnector(), 60);
    for (let count = 0; count < 3; count++) start({}, batchType(5, { count: 50, concurrency: 1 }));
    await succeeded(60);
    expect({ most, requests: receiver.requests.length }).toEqual({ most: 1, requests: 12 });
  });

  test('leave nothing behind when they end or when the process stops', async () => {
    answer(() => undefined);
    await stage.addDeliveries(await addConnector(), 1);
    const worker = stage.startWorker({ drainMilliseconds: 0 }, batchType(5, { count: 50, concurrency: 1 }));
    await receiver.waitFor(1);
    const reserved = () => stage.pool.query(`SELECT FROM "RateLimit" WHERE "arrivesAt" > now() + interval '10 s'`);
    expect((await reserved()).rowCount).toBe(1);
    await worker.stop();
    expect((await reserved()).rowCount).toBe(0);
  });
});
