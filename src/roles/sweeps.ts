import type pg from 'pg';
import type { Logger } from 'pino';
import { claimRound } from '../database/rounds.ts';
import { sweepConnectorAuthorizations } from '../features/connectors/authorization-sweep.ts';
import { sweepIdempotencyKeys } from '../features/idempotency/store.ts';
import { sweepNotices } from '../features/notices/sweep.ts';
import { sweepRefusedPayments } from '../features/payments/refused-sweep.ts';
import { sweepKeptResponses } from '../features/payments/response-sweep.ts';
import { sweepReleasedHosts } from '../features/projects/host-names.ts';
import { sweepRateLimits } from '../limits/rate-limit.ts';

/** Something that only one process does at a time, and how often. */
type Sweep = { periodSeconds: number; run: (pool: pg.Pool) => Promise<unknown> };
type Sweeps = Readonly<Record<string, Sweep>>;

const CLEAN_UP_SECONDS = 600;

/** Sweeps that delete expired rows. */
export const CLEAN_UPS = {
  rateLimits: { periodSeconds: CLEAN_UP_SECONDS, run: sweepRateLimits },
  idempotencyKeys: { periodSeconds: CLEAN_UP_SECONDS, run: sweepIdempotencyKeys },
  keptResponses: { periodSeconds: CLEAN_UP_SECONDS, run: sweepKeptResponses },
  refusedPayments: { periodSeconds: CLEAN_UP_SECONDS, run: sweepRefusedPayments },
  connectorAuthorizations: { periodSeconds: CLEAN_UP_SECONDS, run: sweepConnectorAuthorizations },
  notices: { periodSeconds: CLEAN_UP_SECONDS, run: sweepNotices },
  releasedHosts: { periodSeconds: CLEAN_UP_SECONDS, run: sweepReleasedHosts },
} satisfies Sweeps;

/**
 * Each worker checks this often. If the worker that used to run a sweep is gone, another one starts the sweep within
 * this time.
 */
const LOOK_MILLISECONDS = 60_000;

/**
 * Runs the sweeps that are due. Each runs in only one process, and doesn't depend on the others.
 *
 * @returns the names of the sweeps that this call ran.
 */
export async function runDueSweeps(pool: pg.Pool, log: Logger, sweeps: Sweeps): Promise<string[]> {
  const ran: string[] = [];
  for (const [name, { periodSeconds, run }] of Object.entries(sweeps)) {
    try {
      if (!(await claimRound(pool, name, periodSeconds))) continue;
      await run(pool);
      ran.push(name);
    } catch (error) {
      log.warn({ err: error, sweep: name }, 'a sweep failed; the next one will retry');
    }
  }
  return ran;
}

/** Starts running sweeps when they are due. Returns the function that stops it. */
export function startSweeps(pool: pg.Pool, log: Logger, sweeps: Sweeps): () => void {
  const timer = setInterval(() => void runDueSweeps(pool, log, sweeps), LOOK_MILLISECONDS).unref();
  return () => clearInterval(timer);
}
