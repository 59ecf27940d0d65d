import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../support/child.ts';
import { median } from '../support/statistics.ts';
import { microseconds, milliseconds, rate, ratio, type Table } from '../support/table.ts';
import { dump } from './dump.ts';
import { ENGINE_NAMES, type EngineName } from './engine.ts';
import { type Drain, drain, type Latency, latency } from './measure.ts';
import type { RawMethods } from './raw-process.ts';
import type { Receiver, Stage } from './stage.ts';
import { blackHole, burst, sleeping, slowAccount, snapshot } from './waiting.ts';

export type Part = { title: string; run(stage: Stage, isQuick: boolean): Promise<Table> };

const PEER_COUNTS: Record<EngineName, { quick: number; full: number }> = {
  tollgate: { quick: 20_000, full: 60_000 },
  'graphile-worker': { quick: 8_000, full: 30_000 },
  'pg-boss': { quick: 8_000, full: 30_000 },
  bullmq: { quick: 8_000, full: 30_000 },
};

/** The benchmark's parts, by name. */
export const PARTS = {
  peers: { title: 'Other engines doing the same work: claim, sign, POST 1 KB, record', run: peers },
  workers: { title: 'Worker processes', run: workers },
  destinations: { title: 'Destinations, each with its own origin', run: destinations },
  backlog: { title: 'Backlog', run: backlog },
  slow: { title: 'Destinations that take 200 ms', run: slow },
  calm: { title: '200 events per second', run: calm },
  'black-hole': { title: 'One of 100 destinations never responds', run: blackHole },
  snapshot: { title: 'An old transaction stays open', run: snapshot },
  dump: { title: 'A dump of the database while 200 events a second are sent', run: dump },
  sleeping: { title: 'Destinations with nothing due, and one at capacity', run: sleeping },
  herd: { title: 'Claims per event with one and with eight workers, at 200 events per second', run: herd },
  'slow-account': { title: 'Another account with a backlog for one slow server', run: slowAccount },
  burst: { title: 'Another account with a burst to many fast servers', run: burst },
} satisfies Record<string, Part>;

/**
 * Runs several rounds, because a machine's speed varies. Rates and CPU times are medians of the rounds, and latency is
 * measured in the last round.
 */
async function peers(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const urls = [`${receiver.url}/in`];
  const size = isQuick ? 'quick' : 'full';
  const names = ENGINE_NAMES.filter((name) => !stage.obstacleTo(name));
  const raw: { perSecond: number; cpuMicroseconds: number }[] = [];
  const drains = new Map<EngineName, Drain[]>(names.map((name) => [name, []]));
  const latencies = new Map<EngineName, Latency>();
  const rounds = isQuick ? 1 : 3;
  for (let round = 1; round <= rounds; round++) {
    raw.push(await postAlone(receiver, isQuick ? 30_000 : 100_000));
    for (const name of names) {
      await stage.withEngine(name, urls, async (bench) => {
        const count = PEER_COUNTS[name][size];
        const drained = await drain(bench, receiver, { urls, count, warmUp: count / 4 });
        drains.get(name)!.push(drained);
        if (round < rounds) return;
        const timing = { perSecond: 200, seconds: isQuick ? 3 : 15, warmUpSeconds: isQuick ? 1 : 3 };
        latencies.set(name, await latency(bench, receiver, drained.workers[0]!, timing));
      });
    }
  }
  await receiver.end();

  const rawRate = median(raw, ({ perSecond }) => perSecond);
  const rawCpu = microseconds(median(raw, ({ cpuMicroseconds }) => cpuMicroseconds));
  const rowOf = (name: EngineName) => {
    const obstacle = stage.obstacleTo(name);
    if (obstacle) return [name, obstacle, ...Array(7).fill('')];
    const [results, { fromSchedule, statements }] = [drains.get(name)!, latencies.get(name)!];
    const perSecond = median(results, (result) => result.perSecond);
    const counts = [median(results, (result) => result.statements), statements.worker, statements.publisher];
    return [
      name,
      rate(perSecond),
      ratio(perSecond / rawRate),
      microseconds(median(results, ({ cpuMicroseconds }) => cpuMicroseconds)),
      microseconds(median(results, ({ databaseCpuMicroseconds }) => databaseCpuMicroseconds)),
      counts.map((number) => number.toFixed(2)).join(' / '),
      ...[fromSchedule.p50, fromSchedule.p95, fromSchedule.p99].map(milliseconds),
    ];
  };
  const columns = [
    '',
    'deliveries/s',
    'of the limit',
    'CPU each',
    'PostgreSQL CPU each',
    'statements each',
    'p50',
    'p95',
    'p99',
  ];
  const alone = ['undici Pool alone', rate(rawRate), ratio(1), rawCpu, '–', '–', '–', '–', '–'];
  return { columns, rows: [alone, ...ENGINE_NAMES.map(rowOf)] };
}

/** Measures a bare undici Pool, after a warm-up with a third as many posts. */
async function postAlone(receiver: Receiver, posts: number): Promise<{ perSecond: number; cpuMicroseconds: number }> {
  const raw = startChild<RawMethods>(new URL('raw-process.ts', import.meta.url));
  await raw.call('post', receiver.url, Math.ceil(posts / 3));
  const { seconds, cpuMicroseconds } = await raw.call('post', receiver.url, posts);
  await raw.end();
  return { perSecond: posts / seconds, cpuMicroseconds: cpuMicroseconds / posts };
}

async function workers(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const count = isQuick ? 20_000 : 60_000;
  const rows: string[][] = [];
  for (const size of [1, 2, 4]) {
    const urls = Array.from({ length: 100 }, (_, index) => `${receiver.url}/${index}`);
    await stage.withEngine('tollgate', urls, async (bench) => {
      const result = await drain(bench, receiver, { urls, count, warmUp: count / 4, workers: size });
      rows.push([String(size), rate(result.perSecond), microseconds(result.cpuMicroseconds)]);
    });
  }
  await receiver.end();
  return { columns: ['workers', 'deliveries/s', 'CPU each'], rows };
}

async function destinations(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const count = isQuick ? 10_000 : 40_000;
  const rows: string[][] = [];
  for (const size of isQuick ? [10, 10_000] : [10, 100, 1_000, 10_000]) {
    // Every address in 127.0.0.0/8 belongs to this machine.
    const urls = Array.from(
      { length: size },
      (_, index) => `http://127.1.${index >> 8}.${index & 255}:${receiver.port}/in`,
    );
    await stage.withEngine('tollgate', urls, async (bench) => {
      const result = await drain(bench, receiver, { urls, count, warmUp: count / 4 });
      rows.push([size.toLocaleString('en'), rate(result.perSecond), microseconds(result.cpuMicroseconds)]);
    });
  }
  await receiver.end();
  return { columns: ['destinations', 'deliveries/s', 'CPU each'], rows };
}

async function backlog(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const urls = Array.from({ length: 100 }, (_, index) => `${receiver.url}/${index}`);
  const rows: string[][] = [];
  for (const count of isQuick ? [10_000, 50_000] : [10_000, 100_000, 1_000_000]) {
    await stage.withEngine('tollgate', urls, async (bench) => {
      const result = await drain(bench, receiver, { urls, count, warmUp: 2_500, limit: 10_000 });
      rows.push([count.toLocaleString('en'), rate(result.perSecond), microseconds(result.cpuMicroseconds)]);
    });
  }
  await receiver.end();
  return { columns: ['due', 'deliveries/s, the first 10,000', 'CPU each'], rows };
}

async function slow(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver(200);
  const urls = Array.from({ length: 100 }, (_, index) => `http://127.1.1.${index}:${receiver.port}/in`);
  const count = isQuick ? 20_000 : 60_000;
  const row = await stage.withEngine('tollgate', urls, async (bench) => {
    const result = await drain(bench, receiver, { urls, count, warmUp: count / 4 });
    return [
      rate(result.perSecond),
      microseconds(result.cpuMicroseconds),
      `${((result.cpuMicroseconds * result.perSecond) / 1e6).toFixed(2)}`,
      `${result.maxRssMegabytes.toFixed(0)} MB`,
    ];
  });
  await receiver.end();
  return { columns: ['deliveries/s', 'CPU each', 'cores busy', 'peak memory'], rows: [row] };
}

async function calm(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const urls = [`${receiver.url}/in`];
  const row = await stage.withEngine('tollgate', urls, async (bench) => {
    const worker = await bench.worker();
    await worker.call('start');
    const timing = { perSecond: 200, seconds: isQuick ? 5 : 30, warmUpSeconds: isQuick ? 2 : 10 };
    const { fromCommit, fromSchedule, statements, repeats } = await latency(bench, receiver, worker, timing);
    const times = [fromCommit.p50, fromCommit.p95, fromCommit.p99, fromSchedule.p95].map(milliseconds);
    return [...times, statements.worker.toFixed(2), statements.publisher.toFixed(2), String(repeats)];
  });
  await receiver.end();
  const columns = [
    ...['commit → receipt p50', 'p95', 'p99', 'scheduled → receipt p95'],
    ...['statements each: worker', 'publisher', 'repeats'],
  ];
  return { columns, rows: [row] };
}

async function herd(stage: Stage, isQuick: boolean): Promise<Table> {
  const receiver = await stage.receiver();
  const urls = [`${receiver.url}/in`];
  const rows: string[][] = [];
  for (const size of [1, 8]) {
    await stage.withEngine('tollgate', urls, async (bench) => {
      const workers = await Promise.all(Array.from({ length: size }, bench.worker));
      await Promise.all(workers.map((worker) => worker.call('start')));
      // Wait until the workers know about each other.
      await sleep(12_000);
      const claimCount = async () => (await Promise.all(workers.map((worker) => worker.call('claims')))).flat().length;
      const timing = { perSecond: 200, seconds: isQuick ? 5 : 20, warmUpSeconds: 2 };
      const before = await claimCount();
      const { fromCommit } = await latency(bench, receiver, workers[0]!, timing);
      const events = timing.perSecond * (timing.seconds + timing.warmUpSeconds);
      rows.push([
        String(size),
        (((await claimCount()) - before) / events).toFixed(2),
        ...[fromCommit.p50, fromCommit.p95].map(milliseconds),
      ]);
    });
  }
  await receiver.end();
  return { columns: ['workers', 'claims per event', 'commit → receipt p50', 'p95'], rows };
}
