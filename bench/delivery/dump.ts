/** The part that shows what a backup costs the queue. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findInstalledPostgres } from '../../test/support/installed-postgres.ts';
import { median } from '../support/statistics.ts';
import { milliseconds, ratio, type Table } from '../support/table.ts';
import { drain, latency } from './measure.ts';
import { openStage, type Stage } from './stage.ts';

const MEGABYTE = 1_000_000;

/** Sends at a steady rate before, during, and after dumps with the command from docs/operations.md. */
export async function dump(_stage: Stage, isQuick: boolean): Promise<Table> {
  const programs = await findInstalledPostgres();
  if (!programs) return { columns: ['not measured: pg_dump is not installed'], rows: [] };
  // The embedded PostgreSQL is newer than Debian's `pg_dump` can read.
  const stage = await openStage({ hasPeers: false, programs });
  const receiver = await stage.receiver();
  const urls = [`${receiver.url}/in`];
  const timing = { perSecond: 200, seconds: isQuick ? 10 : 40, warmUpSeconds: isQuick ? 2 : 5 };
  try {
    return await stage.withEngine('tollgate', urls, async (bench) => {
      const { workers } = await drain(bench, receiver, { urls, count: isQuick ? 50_000 : 500_000, warmUp: 100 });
      const measure = () => latency(bench, receiver, workers[0]!, timing);
      const before = await measure();
      const dumps = startDumps(join(programs, 'pg_dump'), bench.databaseUrl);
      const during = await measure().finally(dumps.stop);
      const { seconds, bytes } = await dumps.ended;
      const after = await measure();
      const what = `during dumps of ${median(seconds, Number).toFixed(1)} s and ${Math.round(bytes / MEGABYTE)} MB each`;
      return {
        columns: ['commit → receipt', 'p50', 'p95', 'p99', 'p95, ratio'],
        rows: [before, during, after].map(({ fromCommit }, index) => [
          ['before', what, 'after'][index]!,
          ...[fromCommit.p50, fromCommit.p95, fromCommit.p99].map(milliseconds),
          ratio(fromCommit.p95 / before.fromCommit.p95),
        ]),
      };
    });
  } finally {
    await receiver.end();
    await stage.close();
  }
}

/** Makes one dump after another until it is stopped. The last one is finished. */
function startDumps(program: string, databaseUrl: string) {
  let isStopped = false;
  async function run() {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-dump-'));
    const file = join(folder, 'tollgate.dump');
    const seconds: number[] = [];
    try {
      while (!isStopped) {
        const start = performance.now();
        const child = spawn(program, ['--format=custom', `--file=${file}`, databaseUrl], { stdio: 'inherit' });
        const [code] = await once(child, 'close');
        if (code !== 0) throw new Error(`pg_dump ended with ${code}`);
        seconds.push((performance.now() - start) / 1000);
      }
      return { seconds, bytes: (await stat(file)).size };
    } finally {
      await rm(folder, { recursive: true });
    }
  }
  const ended = run();
  ended.catch(() => {});
  return {
    ended,
    stop() {
      isStopped = true;
    },
  };
}
