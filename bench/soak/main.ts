/**
 * Shows that the service can run indefinitely: does everything at the same time for an hour, at half the load that this
 * machine can handle, and checks that nothing grows or is lost.
 *
 *   npm run soak                      one hour
 *   npm run soak -- --minutes 10      shorter
 *   npm run soak -- --quick           two minutes
 *   npm run soak -- --rate 0.5        half the load
 *   npm run soak -- --output DIR      where the plot and the samples go
 *
 * Needs Linux, because it reads `/proc`. Exits with 1 if something was lost or wasn't used at all or, in runs of ten
 * minutes or more, if something is growing or couldn't be measured.
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import pino from 'pino';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { keepPartitions } from '../../src/database/partitions.ts';
import type { StubMethods } from '../gateway/stub.ts';
import { type Child, startChild } from '../support/child.ts';
import { openPool } from '../support/open-pool.ts';
import { print } from '../support/table.ts';
import { type Books, checkBooks } from './books.ts';
import type { ClientMethods, Rates } from './clients.ts';
import { type Clock, openClock } from './clock.ts';
import { plot } from './plot.ts';
import { FIGURES, type Sample, takeSample } from './samples.ts';
import { type Service, startService } from './service.ts';
import { judge } from './verdict.ts';

const NETWORK = 'eip155:84532';
const WEEK_SECONDS = 7 * 24 * 3600;
const RETENTION_DAYS = 7;
/** Processes measure the database's clock every few seconds, and IDs contain its time. */
const MIN_MOVE_SECONDS = 30;
const MOVES = 12;
/** Shorter runs don't count, because processes are still warming up. */
const MIN_JUDGED_MINUTES = 10;
const DATABASE_SETTINGS = { shared_buffers: '256MB' };
const LOAD: Rates = { payments: 20, changes: 10, reads: 10, sockets: 80 };

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    quick: { type: 'boolean', default: false },
    rate: { type: 'string', default: '1' },
    output: { type: 'string' },
  },
});
const seconds = values.quick ? 120 : Number(values.minutes) * 60;
const sampleSeconds = Math.min(15, seconds / 20);
// The clock is moved at least once.
const moveSeconds = Math.min(Math.max(MIN_MOVE_SECONDS, seconds / (MOVES + 1)), seconds / 2);

type World = { service: Service; clients: Child<ClientMethods>; pool: pg.Pool; clock: Clock };
type Run = { samples: Sample[]; movedAt: number[]; created: number; dropped: number };

/** Takes samples and moves the clock by a week at a time, so that partitions are created, filled, and dropped. */
async function watch({ service, clients, pool, clock }: World): Promise<Run> {
  const run: Run = { samples: [], movedAt: [], created: 0, dropped: 0 };
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  for (let number = 1; elapsed() < seconds; number++) {
    await sleep(Math.max(0, (number * sampleSeconds - elapsed()) * 1000));
    run.samples.push({ minute: elapsed() / 60, values: await takeSample({ service, pool, clients }) });
    // IDs lag behind the clock for a few seconds. After two moves, they would lag so far behind that their weeks would
    // be dropped.
    const lastMove = run.movedAt.at(-1);
    const isTooSoon = lastMove !== undefined && elapsed() < lastMove * 60 + MIN_MOVE_SECONDS;
    if (isTooSoon || elapsed() < (run.movedAt.length + 1) * moveSeconds) continue;
    await clients.call('clockMoves');
    await clock.move(WEEK_SECONDS);
    run.movedAt.push(elapsed() / 60);
    // Wait until the clocks have caught up, and then do what a worker does every hour.
    await sleep(2_500);
    const options = { pool, log: pino({ level: 'silent' }), retentionDays: RETENTION_DAYS };
    const { created, dropped } = await keepPartitions(options);
    run.created += created.length;
    run.dropped += dropped.length;
    console.log(`minute ${(elapsed() / 60).toFixed(1)}: a week later, ${dropped.length} partitions dropped`);
  }
  return run;
}

/** Prints the figures. Returns the ones that are growing, and the ones that could never be measured. */
function report({ samples }: Run): string[] {
  const faults: string[] = [];
  const number = (value: number) => value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
  const rows = FIGURES.map((figure) => {
    const { firstQuarter, lastQuarter, growth, verdict } = judge(figure, samples);
    if (verdict !== 'flat') faults.push(`${figure.name}: ${verdict}`);
    const percent = `${(growth * 100).toFixed(1)}%`;
    const name = figure.unit ? `${figure.name} (${figure.unit})` : figure.name;
    return [name, number(firstQuarter), number(lastQuarter), percent, verdict];
  });
  const columns = ['figure', 'first quarter', 'last quarter', 'growth in the second half', 'verdict'];
  console.log(print({ columns, rows }));
  return faults;
}

async function run(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-soak-'));
  await chmod(folder, 0o711);
  const output = values.output ?? folder;
  await mkdir(output, { recursive: true });
  const postgres = await startThrowawayPostgres(DATABASE_SETTINGS);
  const clock = await openClock(folder, postgres.url);
  const pool = openPool({ connectionString: postgres.url, max: 3, application_name: 'soak' });
  const stub = startChild<StubMethods>(new URL('../gateway/stub.ts', import.meta.url));
  const { facilitatorUrl, upstreamUrl } = await stub.call('listen', NETWORK);
  const service = await startService(folder, {
    ...clock.env,
    DATABASE_URL: postgres.url,
    RETENTION_DAYS: String(RETENTION_DAYS),
    NETWORK,
    FACILITATOR_URL: facilitatorUrl,
    RPC_URL: facilitatorUrl,
  });
  const clients = startChild<ClientMethods>(new URL('clients.ts', import.meta.url), clock.env);
  const rates = scaled(LOAD, Number(values.rate));
  const stage = { apiUrl: service.urlOf('api'), gatewayUrl: service.urlOf('gateway'), upstreamUrl, dataDir: folder };
  await clients.call('open', stage, rates);
  await clients.call('start', rates);

  const watched = await watch({ service, clients, pool, clock });
  await clients.call('stop');
  const books = await checkBooks(pool, clients, await stub.call('settlements'));
  const faults = report(watched);
  const isUsed = await summarize(watched, clients, books);
  await writeFile(join(output, 'soak.svg'), plot(FIGURES, watched.samples, watched.movedAt));
  await writeFile(join(output, 'soak.json'), JSON.stringify({ ...watched, books }, null, 2));
  console.log(`The plot and the samples are in ${output}.`);

  await clients.call('close');
  await Promise.all([clients.end(), stub.end(), service.stop()]);
  await pool.end();
  await postgres.stop();
  const isClean = isUsed && Object.values(books).every((count) => count === 0);
  const isJudged = seconds >= MIN_JUDGED_MINUTES * 60;
  if (isJudged && faults.length > 0) console.log(faults.join('\n'));
  const isGood = isClean && !(isJudged && faults.length > 0);
  if (isGood && output !== folder) await rm(folder, { recursive: true, force: true });
  else console.log(`The logs are in ${folder}.`);
  return isGood;
}

const scaled = (rates: Rates, factor: number): Rates => ({
  payments: rates.payments * factor,
  changes: rates.changes * factor,
  reads: rates.reads * factor,
  sockets: Math.round(rates.sockets * factor),
});

/** Prints the totals and the books. Returns whether everything was used at all. */
async function summarize({ movedAt, created, dropped }: Run, clients: Child<ClientMethods>, books: Books) {
  const totals = await clients.call('totals');
  const { changes, served, deliveryRequests, connections, frames, retries, changesBetweenClocks } = totals;
  console.log(
    `acknowledged: ${changes} changes, ${served.length} paid responses; received: ${deliveryRequests} delivery requests, ` +
      `${frames} live frames over ${connections} connections; ${retries} requests had to be retried`,
  );
  console.log(
    `the clock was moved ${movedAt.length} times; partitions: ${created} created, ${dropped} dropped by this process; ` +
      `live frames weren’t checked for the ${changesBetweenClocks} changes made while processes had different times`,
  );
  console.table(books);
  return Math.min(changes, served.length, deliveryRequests, frames) > 0;
}

process.exit((await run()) ? 0 : 1);
