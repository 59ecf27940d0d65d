/** The parts that show the cost of waiting deliveries. */
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../support/child.ts';
import { median } from '../support/statistics.ts';
import { milliseconds, rate, ratio, type Table } from '../support/table.ts';
import { drain, latency } from './measure.ts';
import { type Bench, type EngineChild, type Stage, until } from './stage.ts';

export async function blackHole(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const hole = await stage.receiver('never');
  const due = isQuick ? 20_000 : 100_000;
  const others = Array.from({ length: 99 }, (_, index) => `${receiver.url}/${index}`);
  const timing = { perSecond: 4, seconds: isQuick ? 5 : 20, warmUpSeconds: isQuick ? 2 : 5 };
  const rows = await stage.withEngine('tollgate', [...others, `${hole.url}/in`], async (bench) => {
    const worker = await bench.worker();
    await worker.call('start');
    // Each event goes to all 100 destinations.
    const before = await latency(bench, receiver, worker, timing);
    await bench.control.call('load', due, [`${hole.url}/in`]);
    await sleep(1_000);
    const after = await latency(bench, receiver, worker, timing);
    return [before, after].map(({ fromCommit }, index) => [
      index === 0
        ? 'no deliveries due to the silent destination'
        : `${due.toLocaleString('en')} due to the silent destination`,
      ...[fromCommit.p50, fromCommit.p95, fromCommit.p99].map(milliseconds),
      ratio(fromCommit.p95 / before.fromCommit.p95),
    ]);
  });
  await hole.end();
  await receiver.end();
  return { columns: ['other destinations, commit → receipt', 'p50', 'p95', 'p99', 'p95, ratio'], rows };
}

/** 300 webhooks of another account share a server that takes 14 s to respond, and 36,000 deliveries to them are due. */
export async function slowAccount(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const tarpit = await stage.receiver(14_000);
  const urls = Array.from({ length: 10 }, (_, index) => `${receiver.url}/${index}`);
  const slowUrls = Array.from({ length: 300 }, (_, index) => `${tarpit.url}/${index}`);
  const timing = { perSecond: 10, seconds: isQuick ? 10 : 40, warmUpSeconds: isQuick ? 2 : 5 };
  const use = async (bench: Bench) => {
    const worker = await bench.worker();
    await worker.call('start');
    const before = await latency(bench, receiver, worker, timing);
    await bench.control.call('load', 36_000, slowUrls);
    await sleep(1_000);
    const after = await latency(bench, receiver, worker, timing);
    return [before, after].map(({ fromCommit }, index) => [
      index === 0 ? 'calm' : '36,000 due to the other account',
      ...[fromCommit.p50, fromCommit.p95, fromCommit.p99].map(milliseconds),
      ratio(fromCommit.p95 / before.fromCommit.p95),
    ]);
  };
  const rows = await stage.withEngine('tollgate', urls, use, slowUrls);
  await tarpit.end();
  await receiver.end();
  return { columns: ['commit → receipt', 'p50', 'p95', 'p99', 'p95, ratio'], rows };
}

/** Deliveries to 2,000 fast servers of another account are due, more than can be sent in the time measured. */
export async function burst(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const fast = await stage.receiver();
  const urls = Array.from({ length: 10 }, (_, index) => `${receiver.url}/${index}`);
  const burstUrls = Array.from({ length: 2_000 }, (_, index) => {
    return `http://127.2.${index >> 8}.${index & 255}:${fast.port}/in`;
  });
  const timing = { perSecond: 10, seconds: isQuick ? 5 : 20, warmUpSeconds: 2 };
  const due = isQuick ? 60_000 : 200_000;
  const use = async (bench: Bench) => {
    const worker = await bench.worker();
    await worker.call('start');
    const before = await latency(bench, receiver, worker, timing);
    await bench.control.call('load', due, burstUrls);
    const startedAt = now();
    const after = await latency(bench, receiver, worker, { ...timing, warmUpSeconds: 0 });
    const perSecond = ((await fast.call('count')).received * 1000) / (now() - startedAt);
    return [before, after].map(({ fromCommit }, index) => [
      index === 0 ? 'calm' : `${due.toLocaleString('en')} due to the other account`,
      ...[fromCommit.p50, fromCommit.p95, fromCommit.p99].map(milliseconds),
      ratio(fromCommit.p95 / before.fromCommit.p95),
      index === 0 ? '' : rate(perSecond),
    ]);
  };
  const rows = await stage.withEngine('tollgate', urls, use, burstUrls);
  await fast.end();
  await receiver.end();
  return { columns: ['commit → receipt', 'p50', 'p95', 'p99', 'p95, ratio', 'of the burst/s'], rows };
}

/**
 * Measures the cost of a queue with nothing due, after a few and after many deliveries that PostgreSQL can't clean up.
 */
export async function snapshot(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const urls = Array.from({ length: 100 }, (_, index) => `${receiver.url}/${index}`);
  const count = isQuick ? 20_000 : 200_000;
  const rows = await stage.withEngine('tollgate', urls, async (bench) => {
    const release = await bench.holdSnapshot();
    const { workers } = await drain(bench, receiver, { urls, count: count / 10, warmUp: 100 });
    const before = await emptyClaims(workers[0]!);
    await bench.control.call('load', count, urls);
    const recorded = async () => (await bench.control.call('recorded')) >= count * 1.1;
    await until(recorded, 'all attempts', 300_000);
    const after = await emptyClaims(workers[0]!);
    await release();
    return [before, after].map(({ fromMark, complete }, index) => [
      index === 0 ? `after ${(count / 10).toLocaleString('en')}` : `after ${count.toLocaleString('en')} more`,
      `${fromMark.toFixed(2)} ms`,
      `${complete.toFixed(2)} ms`,
    ]);
  });
  await receiver.end();
  return { columns: ['deliveries', 'empty claim, median', 'complete scan, median'], rows };
}

/** The median durations of the claims during ten idle seconds. */
async function emptyClaims(worker: EngineChild): Promise<{ fromMark: number; complete: number }> {
  await sleep(2_000);
  const { length } = await worker.call('claims');
  await sleep(10_000);
  const claims = (await worker.call('claims')).slice(length).filter(({ name }) => name === 'delivery_claim_due');
  const [complete, fromMark] = [true, false].map((isComplete) =>
    claims.filter((claim) => claim.isComplete === isComplete),
  );
  return {
    fromMark: median(fromMark!, ({ milliseconds }) => milliseconds),
    complete: median(complete!, ({ milliseconds }) => milliseconds),
  };
}

/** Many destinations have a delivery that is due in ten hours, and one destination is at capacity with a backlog. */
export async function sleeping(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const hole = await stage.receiver('never');
  const count = isQuick ? 10_000 : 100_000;
  const urls = Array.from({ length: 10 }, (_, index) => `${receiver.url}/${index}`);
  const asleep = Array.from({ length: count }, (_, index) => `${receiver.url}/asleep/${index}`);
  const timing = { perSecond: 10, seconds: isQuick ? 10 : 40, warmUpSeconds: isQuick ? 2 : 5 };
  const use = async (bench: Bench) => {
    const worker = await bench.worker();
    await worker.call('start');
    const before = await latency(bench, receiver, worker, timing);
    await bench.control.call('load', count, asleep, 36_000);
    await bench.control.call('load', 20_000, [`${hole.url}/in`]);
    await sleep(5_000);
    const after = await latency(bench, receiver, worker, timing);
    return [before, after].map(({ fromCommit }, index) => [
      index === 0 ? 'calm' : `${count.toLocaleString('en')} asleep, one at capacity`,
      ...[fromCommit.p50, fromCommit.p95, fromCommit.p99].map(milliseconds),
      ratio(fromCommit.p95 / before.fromCommit.p95),
    ]);
  };
  const rows = await stage.withEngine('tollgate', urls, use, [...asleep, `${hole.url}/in`]);
  await hole.end();
  await receiver.end();
  return { columns: ['commit → receipt', 'p50', 'p95', 'p99', 'p95, ratio'], rows };
}
