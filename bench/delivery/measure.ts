import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../support/child.ts';
import { percentile } from '../support/statistics.ts';
import type { Published } from './engine-process.ts';
import { type Bench, type EngineChild, type Receiver, until, usageOf } from './stage.ts';

export type Drain = {
  perSecond: number;
  cpuMicroseconds: number;
  databaseCpuMicroseconds: number;
  statements: number;
  maxRssMegabytes: number;
  /** The workers, which keep running. */
  workers: EngineChild[];
};

/**
 * Loads `count` deliveries, then starts the workers. Measures from the arrival of the first `warmUp` deliveries until
 * the last attempt is recorded, and fails unless all deliveries arrive.
 *
 * @param limit measuring stops after this many deliveries. Set it to measure only the rate with a backlog.
 */
export async function drain(
  bench: Bench,
  receiver: Receiver,
  options: { urls: readonly string[]; count: number; warmUp: number; workers?: number; limit?: number },
): Promise<Drain> {
  const { urls, count, warmUp, limit = count } = options;
  const workers = await Promise.all(Array.from({ length: options.workers ?? 1 }, bench.worker));
  await receiver.call('reset');
  await bench.control.call('load', count, urls);
  await Promise.all(workers.map((worker) => worker.call('start')));

  const received = async (wanted: number) => (await receiver.call('count')).received >= wanted;
  await until(() => received(warmUp), `${warmUp} deliveries to arrive`, 120_000);
  const look = async () => ({
    ...(await usageOf(workers)),
    at: now(),
    database: bench.databaseCpuMicroseconds(),
    received: (await receiver.call('count')).received,
  });
  const before = await look();
  await until(() => received(limit), `${limit} deliveries to arrive`, 300_000);
  if (limit === count) await until(async () => (await bench.control.call('recorded')) >= count, 'the last attempts');
  const after = await look();
  const delivered = after.received - before.received;
  return {
    perSecond: (delivered * 1000) / (after.at - before.at),
    cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / delivered,
    databaseCpuMicroseconds: (after.database - before.database) / delivered,
    statements: after.statements / after.received,
    maxRssMegabytes: after.maxRssMegabytes,
    workers,
  };
}

export type Latency = {
  /** Milliseconds from an event's scheduled time to its receipt, including any delay before the commit. */
  fromSchedule: Percentiles;
  fromCommit: Percentiles;
  /** The number of statements per delivery, for the publishing process (its transaction) and the sending process. */
  statements: { publisher: number; worker: number };
  repeats: number;
};
type Percentiles = { p50: number; p95: number; p99: number };

/**
 * Publishes at a steady rate from another process and measures when each event arrives.
 *
 * @throws Error if the received events differ from the published events. In that case, the run doesn't count.
 */
export async function latency(
  bench: Bench,
  receiver: Receiver,
  worker: EngineChild,
  { perSecond, seconds, warmUpSeconds }: { perSecond: number; seconds: number; warmUpSeconds: number },
): Promise<Latency> {
  const publisher = bench.control;
  const received = async () => (await receiver.call('count')).received;
  await receiver.call('reset');
  const { length } = await publisher.call('publish', perSecond, warmUpSeconds);
  await until(async () => (await received()) >= length, 'the first events to arrive');
  await sleep(500);
  await receiver.call('reset');
  const before = { publisher: await usageOf([publisher]), worker: await usageOf([worker]) };
  const published = await publisher.call('publish', perSecond, seconds);
  await until(async () => (await received()) >= published.length, 'all events to arrive').catch(() => {});
  const after = { publisher: await usageOf([publisher]), worker: await usageOf([worker]) };

  const receipts = await receiver.call('receipts');
  const missing = published.filter(({ id }) => !receipts.has(id));
  if (missing.length > 0 || receipts.size !== published.length)
    throw new Error(`${published.length} published, ${receipts.size} received, ${missing.length} missing`);
  const since = (pick: (item: Published) => number) =>
    percentiles(published.map((item) => receipts.get(item.id)! - pick(item)));
  return {
    fromSchedule: since(({ scheduledAt }) => scheduledAt),
    fromCommit: since(({ committedAt }) => committedAt),
    statements: {
      publisher: (after.publisher.statements - before.publisher.statements) / published.length,
      worker: (after.worker.statements - before.worker.statements) / published.length,
    },
    repeats: (await receiver.call('count')).repeats,
  };
}

function percentiles(values: readonly number[]): Percentiles {
  return { p50: percentile(values, 0.5), p95: percentile(values, 0.95), p99: percentile(values, 0.99) };
}
