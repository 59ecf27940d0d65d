import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { recheckWaiting } from '../flow/ordering.ts';
import { releaseStranded } from './held.ts';
import type { createLeases } from './leases.ts';
import type { WakeSignal } from './wake-signal.ts';
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
  const ending = new AbortController();
  let isStopping = false;
  let running: Promise<void> = Promise.resolve();
  /** How many deliveries the last round released. If it released any, there may be another batch. */
  let released = 0;

  async function releaseLeftBehind(): Promise<void> {
    released = (await releaseStranded(pool)) + (await recheckWaiting(pool));
    if (released > 0) signal.notify();
  }

  async function run(): Promise<void> {
    for (let round = 0; !isStopping || leases.count() > 0; round++) {
      try {
        await leases.prolong();
        if (!isStopping) await registry.beat();
        if (!isStopping) await onPaces();
        if (!isStopping && (released > 0 || round % STRANDED_EVERY_ROUNDS === 0)) await releaseLeftBehind();
      } catch (error) {
        log.debug({ err: error }, "couldn't maintain the queue");
      }
      const pause = ROUND_MILLISECONDS * (0.75 + Math.random() / 2);
      await sleep(pause, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return;
    }
  }

  return {
    start(): void {
      running = run();
    },

    /** From now on, only extends the leases of deliveries in flight. */
    stop(): void {
      isStopping = true;
    },

    /** Stops extending leases too. */
    async end(): Promise<void> {
      ending.abort();
      await running;
    },
  };
}
