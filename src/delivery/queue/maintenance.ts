import type pg from 'pg';
import type { Logger } from 'pino';
import { createLoop } from '../../loop.ts';
import type { WakeSignal } from '../../wake-signal.ts';
import { releaseStranded } from './held.ts';
import type { createLeases } from './leases.ts';
import { recheckWaiting } from './ordering.ts';
import type { createWorkerRegistry } from './worker-registry.ts';

export type MaintenanceOptions = {
  pool: pg.Pool;
  leases: Pick<ReturnType<typeof createLeases>, 'prolong' | 'count'>;
  registry: Pick<ReturnType<typeof createWorkerRegistry>, 'beat'>;
  /** Wakes the claim loop when deliveries have become due. */
  signal: Pick<WakeSignal, 'notify'>;
  /** Reads rate limits that other processes have changed. */
  onPaces: () => Promise<void>;
  log: Logger;
};

const ROUND_MILLISECONDS = 1_000;
const STRANDED_EVERY_ROUNDS = 10;

/**
 * Runs a worker's regular tasks every second, no matter what is due: extends its leases, reports that it is alive, and
 * releases deliveries that were left behind.
 */
export function createMaintenance({ pool, leases, registry, signal, onPaces, log }: MaintenanceOptions) {
  let isStopping = false;
  let rounds = 0;
  /** How many deliveries the last round released. If it released any, there may be another batch. */
  let released = 0;

  async function releaseLeftBehind(): Promise<void> {
    released = (await releaseStranded(pool)) + (await recheckWaiting(pool));
    if (released > 0) signal.notify();
  }

  const loop = createLoop({
    task: 'maintain the queue',
    intervalMilliseconds: ROUND_MILLISECONDS,
    log,
    // While the database is unavailable, the claim loop already says so.
    level: 'debug',
    async round() {
      const isTimeToRelease = rounds++ % STRANDED_EVERY_ROUNDS === 0;
      await leases.prolong();
      if (!isStopping) await registry.beat();
      if (!isStopping) await onPaces();
      if (!isStopping && (released > 0 || isTimeToRelease)) await releaseLeftBehind();
    },
  });

  return {
    start: loop.start,

    /** From now on, only extends the leases of deliveries in flight. */
    stop(): void {
      isStopping = true;
    },

    /** Stops extending leases too. */
    end: loop.stop,
  };
}
