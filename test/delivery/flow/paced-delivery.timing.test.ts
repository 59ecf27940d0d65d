import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { pace } from '../../support/pace.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../support.ts';
import { batchType } from './batch-type.ts';

let stage: Stage;
let receiver: Receiver;
let workers: DeliveryWorker[] = [];
/** The time at which each request arrived, in milliseconds. */
let times: number[];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  await stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector", "RateLimit" CASCADE');
  times = [];
  receiver = await startReceiver(async () => {
    times.push(performance.now());
    await pace(100);
    return {};
  });
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
  await receiver.close();
});
afterAll(() => stage?.close());

/** Starts three processes' workers, and returns the time from the first request to the last, in milliseconds. */
async function send(count: number, connectors: ReturnType<typeof batchType> = { connectors: [] }): Promise<number> {
  workers = Array.from({ length: 3 }, () => stage.startWorker({}, connectors));
  await expect.poll(() => stage.countBy('SUCCEEDED')).toBe(count);
  return times.at(-1)! - times[0]!;
}

test('deliveries to a destination with a rate limit are sent at the full rate', async () => {
  const { id } = await stage.addWebhook(receiver.url, { maxPerSecond: 5 });
  await stage.addDeliveries(id, 25);
  // There are 24 intervals of 200 ms.
  expect(await send(25)).toBeLessThan(24 * 200 * 2.5);
});

test('if requests must not overlap, each starts soon after another one ends, no matter which process sent it', async () => {
  await stage.addDeliveries(await stage.addConnector('dune', { url: receiver.url }), 60);
  const milliseconds = await send(60, batchType(5, { count: 50, concurrency: 1 }));
  // A batch is smaller if another process is just claiming some of its deliveries.
  expect(times.length).toBeGreaterThanOrEqual(12);
  expect(milliseconds).toBeLessThan((times.length - 1) * 400);
});
