import type pg from 'pg';
import type { Logger } from 'pino';
import { claimRound } from '../database/rounds.ts';
import { sweepConnectorAuthorizations } from '../features/connectors/authorization-sweep.ts';
import { sweepIdempotencyKeys } from '../features/idempotency/store.ts';
import { sweepInvitations } from '../features/members/invitations/sweep.ts';
import { sweepTransfers } from '../features/members/transfers/sweep.ts';
import { sweepNotices } from '../features/notices/sweep.ts';
import { sweepRefusedPayments } from '../features/payments/refused-sweep.ts';
import { sweepKeptResponses } from '../features/payments/response-sweep.ts';
import { sweepBuyerUsage } from '../features/payments/usage-sweep.ts';
import { sweepReleasedHosts } from '../features/projects/host-names.ts';
import { sweepRateLimits } from '../limits/rate-limit.ts';

/** A task that runs periodically, in only one process at a time. */
type Sweep = { periodSeconds: number; run: (pool: pg.Pool) => Promise<unknown> };
type Sweeps = Readonly<Record<string, Sweep>>;

const CLEAN_UP_SECONDS = 600;
/** For rows that strangers can add quickly. */
const FREQUENT_CLEAN_UP_SECONDS = 60;

/** Sweeps that delete expired rows. */
export const CLEAN_UPS = {
  rateLimits: { periodSeconds: CLEAN_UP_SECONDS, run: sweepRateLimits },
  idempotencyKeys: { periodSeconds: CLEAN_UP_SECONDS, run: sweepIdempotencyKeys },
  keptResponses: { periodSeconds: FREQUENT_CLEAN_UP_SECONDS, run: sweepKeptResponses },
  refusedPayments: { periodSeconds: FREQUENT_CLEAN_UP_SECONDS, run: sweepRefusedPayments },
  buyerUsage: { periodSeconds: CLEAN_UP_SECONDS, run: sweepBuyerUsage },
  connectorAuthorizations: { periodSeconds: CLEAN_UP_SECONDS, run: sweepConnectorAuthorizations },
  invitations: { periodSeconds: CLEAN_UP_SECONDS, run: sweepInvitations },
  transfers: { periodSeconds: CLEAN_UP_SECONDS, run: sweepTransfers },
  notices: { periodSeconds: CLEAN_UP_SECONDS, run: sweepNotices },
  releasedHosts: { periodSeconds: CLEAN_UP_SECONDS, run: sweepReleasedHosts },
} satisfies Sweeps;

/**
 * Each worker checks this often. If the worker that ran a sweep has stopped, another worker runs it within this time.
 */
const POLL_INTERVAL_MILLISECONDS = 60_000;

/**
 * Runs the sweeps that are due. Each runs in only one process, and doesn't depend on the others.
 *
 * @param running the sweeps that this process is running. They don't start again until they end.
 * @returns the names of the sweeps that this call ran.
 */
export async function runDueSweeps(
  pool: pg.Pool,
  log: Logger,
  sweeps: Sweeps,
  running: Set<string> = new Set(),
): Promise<string[]> {
  const ran: string[] = [];
  for (const [name, { periodSeconds, run }] of Object.entries(sweeps)) {
    if (running.has(name)) continue;
    running.add(name);
    try {
      if (!(await claimRound(pool, name, periodSeconds))) continue;
      await run(pool);
      ran.push(name);
    } catch (error) {
      log.warn({ err: error, sweep: name }, 'a sweep failed; the next one will retry');
    } finally {
      running.delete(name);
    }
  }
  return ran;
}

/**
 * Starts running sweeps when they are due.
 *
 * @param sweeps returns those that may run now.
 * @returns the function that stops it.
 */
export function startSweeps(pool: pg.Pool, log: Logger, sweeps: () => Sweeps): () => void {
  const running = new Set<string>();
  const timer = setInterval(() => void runDueSweeps(pool, log, sweeps(), running), POLL_INTERVAL_MILLISECONDS).unref();
  return () => clearInterval(timer);
}
