import { median } from '../support/statistics.ts';
import { microseconds, milliseconds, rate, ratio, type Table } from '../support/table.ts';
import type { ApiRequest } from './load.ts';
import type { Contest, Measurement } from './stage.ts';

const ROUNDS = 3;
const AT_ONCE = 32;
const MEGABYTE = 1024 * 1024;

/**
 * Sends the request to each server, in rounds. Within a round, the servers take turns, because a machine's speed
 * varies. Results are medians. Each server is warmed up first, because code gets faster the more often it runs.
 */
export async function compare(
  { contestants, measure }: Contest,
  request: ApiRequest,
  isQuick: boolean,
): Promise<Table> {
  const { warmUp, seconds } = isQuick ? { warmUp: 2_000, seconds: 1 } : { warmUp: 10_000, seconds: 5 };
  const rounds = new Map(contestants.map((contestant) => [contestant, [] as Measurement[]]));
  for (const server of contestants)
    await measure(server, request, { connections: AT_ONCE, limit: { requests: warmUp } });
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [server, results] of rounds)
      results.push(await measure(server, request, { connections: AT_ONCE, limit: { seconds } }));
  }

  const pick = (results: readonly Measurement[], what: keyof Measurement) => median(results, (result) => result[what]);
  const ours = pick([...rounds.values()][0]!, 'cpuMicroseconds');
  const rows = [...rounds].map(async ([{ name, usage }, results]) => [
    ...[name, rate(pick(results, 'perSecond')), microseconds(pick(results, 'cpuMicroseconds'))],
    ratio(pick(results, 'cpuMicroseconds') / ours),
    ...[microseconds(pick(results, 'databaseCpuMicroseconds')), pick(results, 'statements').toFixed(1)],
    ...(['p50', 'p99'] as const).map((what) => milliseconds(pick(results, what))),
    `${Math.round((await usage()).rssBytes / MEGABYTE)} MB`,
  ]);
  const columns = [
    ...['', 'requests/s', 'CPU each', 'CPU ÷ tollgate', 'PostgreSQL CPU each', 'statements each'],
    ...['p50', 'p99', 'memory'],
  ];
  return { columns, rows: await Promise.all(rows) };
}
