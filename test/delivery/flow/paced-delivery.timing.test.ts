import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { topics } from '../../../src/bus/bus.ts';
import { type ConnectorDefinition, defineConnector, type VendorLimit } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { type Receiver, type ReceiverHandler, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../support.ts';

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
/** Half the interval between requests at two per second, because a busy machine may receive a request late. */
const HALF_AN_INTERVAL = 250;
const gaps = () => times.slice(1).map((time, index) => time - times[index]!);
const succeeded = (count: number, timeout = 60_000) =>
  expect.poll(() => stage.countBy('SUCCEEDED'), { timeout }).toBe(count);

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

const config = z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) });

/** A type that posts the IDs of a batch's events, and drops events that get a 422. */
function batchType(maxEvents: number, limit: Partial<VendorLimit>): { connectors: ConnectorDefinition[] } {
  const definition = defineConnector<z.infer<typeof config>>({
    type: 'dune',
    title: 'Batches',
    category: 'Data',
    description: 'For tests.',
    documentationUrl: 'https://example.com',
    config,
    carries: () => true,
    batch: { maxEvents, windowSeconds: 0.01 },
    vendorLimit: { count: 1, perSeconds: 1, documentationUrl: 'https://example.com/limits', ...limit },
    build: (events, { url }) => ({
      method: 'POST',
      url,
      headers: {},
      body: JSON.stringify(events.map(({ id }) => id)),
    }),
    classify: ({ statusCode }) =>
      statusCode === 422 ? { kind: 'drop', reason: 'Not accepted.' } : { kind: 'delivered' },
  });
  return { connectors: [definition as unknown as ConnectorDefinition] };
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

  test('are sent in order and at the full rate by several processes', async () => {
    const perSecond = 5;
    const id = await addWebhook(perSecond);
    const backlog = await addBacklog(id, 25);
    for (let count = 0; count < 3; count++) start();
    await succeeded(25);
    // Includes a margin for a busy machine.
    expect((times.at(-1)! - times[0]!) / 1000).toBeLessThan((24 / perSecond) * 2.5);
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
    start();
    await receiver.waitFor(5);
    await setRate(id, 0.01);
    stage.bus.publish(topics.paces);
    const before = receiver.requests.length;
    await sleep(2_000);
    // Only deliveries that already had a slot were sent.
    expect(receiver.requests.length - before).toBeLessThanOrEqual(5);
  });
});

test('requests that wait for others to end are still an interval apart', async () => {
  answer(async (_request, _response, index) => {
    if (index === 0) await sleep(2_500);
    return {};
  });
  await stage.addDeliveries(await addWebhook(2), 6);
  start({ perDestination: 1, maxPerDestination: 1, claimedAhead: 10 });
  await succeeded(6);
  for (const gap of gaps()) expect(gap).toBeGreaterThan(HALF_AN_INTERVAL);
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
  test.each([true, false])(
    'are sent before a backlog that is waiting for slots, but a replay is not (replay: %s)',
    async (isReplay) => {
      const id = await addWebhook(4);
      const old = await stage.addDelivery(id, { status: 'SUCCEEDED', nextAttemptAt: null, attemptCount: 1 });
      await addBacklog(id, 30);
      start();
      await receiver.waitFor(2);
      const before = receiver.requests.length;
      const fresh = await stage.addDelivery(id, { trigger: 'MANUAL', isReplay });
      await resend(old, { isReplay });
      stage.bus.publish(topics.deliveriesDue);
      await receiver.waitFor(before + 6);
      const asked = await Promise.all([fresh, old].map((delivery) => stage.delivery(delivery)));
      expect(asked.map(({ status }) => status === 'SUCCEEDED')).toEqual([!isReplay, !isReplay]);
    },
  );
});

describe('a batch', () => {
  test('takes a slot for each part if it is split', async () => {
    answer((request) => ({ statusCode: request.body.toString().includes(poison) ? 422 : 200 }));
    const connector = await addConnector();
    const poison = (await addBacklog(connector, 8))[0]!.eventId;
    start({}, batchType(8, { count: 2 }));
    await succeeded(7);
    expect(batches().map(({ length }) => length)).toEqual([8, 4, 2, 1, 1, 2, 4]);
    for (const gap of gaps()) expect(gap).toBeGreaterThan(HALF_AN_INTERVAL);
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
      await sleep(100);
      running--;
      return {};
    });
    await stage.addDeliveries(await addConnector(), 60);
    for (let count = 0; count < 3; count++) start({}, batchType(5, { count: 50, concurrency: 1 }));
    await succeeded(60);
    expect({ most, requests: receiver.requests.length }).toEqual({ most: 1, requests: 12 });
    // Another request started soon after each one ended, no matter which process sent it.
    expect(times.at(-1)! - times[0]!).toBeLessThan(11 * 400);
  });

  test('leave nothing behind when they end or when the process stops', async () => {
    answer(() => undefined);
    await stage.addDeliveries(await addConnector(), 1);
    const worker = stage.startWorker({ drainMilliseconds: 0 }, batchType(5, { count: 50, concurrency: 1 }));
    await receiver.waitFor(1);
    const turns = () => stage.pool.query(`SELECT FROM "RateLimit" WHERE "key" LIKE 'delivery-turn:%'`);
    expect((await turns()).rowCount).toBe(1);
    await worker.stop();
    expect((await turns()).rowCount).toBe(0);
  });
});
