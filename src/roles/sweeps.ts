import type pg from 'pg';
import type { Logger } from 'pino';
import { sweepIdempotencyKeys } from '../features/idempotency/store.ts';
import { sweepRefusedPayments } from '../features/payments/refused-sweep.ts';
import { sweepKeptResponses } from '../features/payments/response-sweep.ts';
import { sweepReleasedHosts } from '../features/projects/host-names.ts';
import { sweepRateLimits } from '../limits/rate-limit.ts';

const SWEEPS = {
  rateLimits: sweepRateLimits,
  idempotencyKeys: sweepIdempotencyKeys,
  keptResponses: sweepKeptResponses,
  refusedPayments: sweepRefusedPayments,
  releasedHosts: sweepReleasedHosts,
} satisfies Record<string, (pool: pg.Pool) => Promise<unknown>>;

const PERIOD_SECONDS = 600;
/** Each worker checks this often, so a sweep starts at most this late after the one that used to run it is gone. */
const LOOK_MILLISECONDS = 60_000;

/**
 * Deletes what has expired. Every sweep runs every ten minutes, in only one process, and doesn't depend on the others.
 *
 * @returns the names of the sweeps that this call ran.
 */
export async function runDueSweeps(pool: pg.Pool, log: Logger): Promise<string[]> {
  const ran: string[] = [];
  for (const [name, sweep] of Object.entries(SWEEPS)) {
    try {
      if (!(await claim(pool, name))) continue;
      await sweep(pool);
      ran.push(name);
    } catch (error) {
      log.warn({ err: error, sweep: name }, 'a sweep failed; the next one will retry');
    }
  }
  return ran;
}

/** Starts running sweeps when they are due. Returns the function that stops it. */
export function startSweeps(pool: pg.Pool, log: Logger): () => void {
  const timer = setInterval(() => void runDueSweeps(pool, log), LOOK_MILLISECONDS).unref();
  return () => clearInterval(timer);
}

/** Returns whether the sweep is due, and no other process runs it. */
async function claim(pool: pg.Pool, name: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `INSERT INTO "Sweep" ("name") VALUES ($1)
     ON CONFLICT ("name") DO UPDATE SET "startedAt" = statement_timestamp()
       WHERE "Sweep"."startedAt" <= statement_timestamp() - make_interval(secs => $2)`,
    [name, PERIOD_SECONDS],
  );
  return rowCount === 1;
}
