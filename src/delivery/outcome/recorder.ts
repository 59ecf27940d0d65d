import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { isStatementTimeout } from '../../database/errors.ts';
import type { AttemptRecord } from '../model/claimed-delivery.ts';
import type { DeliveryMetrics } from '../model/delivery-metrics.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';
import { createContentBudget } from './content-budget.ts';
import type { createHealth } from './health.ts';
import { recordOutcomes } from './record.ts';

export type RecorderOptions = {
  pool: pg.Pool;
  health: ReturnType<typeof createHealth>;
  log: Logger;
  metrics?: Pick<DeliveryMetrics, 'onQueueError'> | undefined;
};

/** An outcome waiting to be written. */
type Entry = { outcome: DeliveryOutcome; resolve: (written: Written) => void };

/** `isPaused`: whether this write paused its connector. */
type Written = { isPaused: boolean };

const BATCH_SIZE = 256;
// The first result after a pause is written quickly. While results keep coming, a longer wait makes larger batches,
// which cost less.
const COLLECT_MILLISECONDS = { first: 3, next: 10 };
const MIN_BACKOFF_MILLISECONDS = 100;
// This is short so that results are written soon after the database is back. Unwritten results are lost if the process
// is killed.
const MAX_BACKOFF_MILLISECONDS = 250;
const LOG_EVERY_MILLISECONDS = 10_000;

/**
 * Collects outcomes and writes them in batches, one after the other. While the database is unavailable, they are kept.
 * The worker can't claim anything in the meantime, so the outcomes never exceed its limit for deliveries in flight.
 */
export function createRecorder({ pool, health, log, metrics }: RecorderOptions) {
  const contentBudget = createContentBudget({ pool, log });
  let waiting: Entry[] = [];
  let isRunning = false;
  let isAbandoned = false;

  function enter(outcome: DeliveryOutcome): Promise<Written> {
    const { promise, resolve } = Promise.withResolvers<Written>();
    waiting.push({ outcome, resolve });
    return promise;
  }

  async function record(outcomes: readonly DeliveryOutcome[]): Promise<Written> {
    const entered = outcomes.map(enter);
    if (!isRunning && !isAbandoned) void run();
    const written = await Promise.all(entered);
    return { isPaused: written.some(({ isPaused }) => isPaused) };
  }

  async function run(): Promise<void> {
    isRunning = true;
    let milliseconds = COLLECT_MILLISECONDS.first;
    while (waiting.length > 0 && !isAbandoned) {
      if (waiting.length < BATCH_SIZE) await sleep(milliseconds);
      const batch = waiting.slice(0, BATCH_SIZE);
      waiting = waiting.slice(BATCH_SIZE);
      const outcomes = await contentBudget.limit(batch.map(({ outcome }) => outcome));
      await write(batch.map((entry, index) => ({ ...entry, outcome: outcomes[index]! })));
      milliseconds = COLLECT_MILLISECONDS.next;
    }
    isRunning = false;
  }

  async function write(batch: readonly Entry[]): Promise<void> {
    let backoff = MIN_BACKOFF_MILLISECONDS;
    let loggedAt = Number.NEGATIVE_INFINITY;
    const outcomes = batch.map(({ outcome }) => outcome);
    while (!isAbandoned) {
      try {
        await health.apply(outcomes);
        const { written, paused } = await recordOutcomes(pool, outcomes);
        warnOfVoid(outcomes, written);
        for (const connector of paused) health.onPaused('connector', connector);
        const pausedIds = new Set(paused.map(({ id }) => id));
        for (const { outcome, resolve } of batch) resolve({ isPaused: pausedIds.has(outcome.delivery.destination) });
        return;
      } catch (error) {
        metrics?.onQueueError('record');
        if (isPermanent(error)) return writeApart(batch, error);
        if (isLocked(error) || isStatementTimeout(error)) return writeByProject(batch);
        if (performance.now() - loggedAt > LOG_EVERY_MILLISECONDS) {
          loggedAt = performance.now();
          log.error(
            { err: error, results: batch.length + waiting.length },
            'delivery results are waiting for the database',
          );
        }
        await sleep(backoff);
        backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLISECONDS);
      }
    }
  }

  /**
   * If a project's rows are locked (perhaps because it is being deleted), or a statement about one project takes too long,
   * the results of other projects are written first.
   */
  async function writeByProject(batch: readonly Entry[]): Promise<void> {
    const projects = [...Map.groupBy(batch, ({ outcome }) => outcome.delivery.projectId).values()];
    if (projects.length === 1) waiting.push(...batch);
    else for (const project of projects) await write(project);
  }

  /**
   * A result that the database rejects must not hold up other results. If necessary, it is written without its text
   * columns.
   */
  async function writeApart(batch: readonly Entry[], error: unknown): Promise<void> {
    const [first] = batch;
    if (batch.length > 1) {
      for (const entry of batch) await write([entry]);
    } else if (first && hasTexts(first.outcome)) {
      const { outcome, resolve } = first;
      await write([{ outcome: { ...outcome, attempts: outcome.attempts.map(withoutTexts), remember: {} }, resolve }]);
    } else if (first) {
      log.error({ err: error, deliveryId: first.outcome.delivery.id }, "can't write a delivery's result");
      first.resolve({ isPaused: false });
    }
  }

  function warnOfVoid(batch: readonly DeliveryOutcome[], written: ReadonlySet<string>): void {
    const deliveryIds = batch.map(({ delivery }) => delivery.id).filter((id) => !written.has(id));
    if (deliveryIds.length > 0)
      log.warn({ deliveryIds }, 'delivery results were discarded because their leases were lost');
  }

  return {
    /** Resolves once the outcomes are written or discarded. They are written in the order they were recorded. */
    record,
    /** Forgets unwritten outcomes. Another process will resend the deliveries. Pending `record` calls never resolve. */
    abandon(): void {
      isAbandoned = true;
      waiting = [];
    },
  };
}

function hasTexts({ attempts, remember }: DeliveryOutcome): boolean {
  return (
    Object.keys(remember).length > 0 ||
    attempts.some(
      ({ responseBody, errorMessage, exchange }) => responseBody !== null || errorMessage !== null || exchange,
    )
  );
}

function withoutTexts(attempt: AttemptRecord): AttemptRecord {
  const { exchange: _exchange, ...rest } = attempt;
  return { ...rest, responseBody: null, errorMessage: null };
}

// SQLSTATE classes of errors in data or statements: https://www.postgresql.org/docs/current/errcodes-appendix.html
const PERMANENT_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '42']);

function isPermanent(error: unknown): boolean {
  const code = codeOf(error);
  return typeof code === 'string' && code.length === 5 && PERMANENT_CLASSES.has(code.slice(0, 2));
}

/** lock_not_available. It is raised only after the lock timeout, so retrying immediately is cheap. */
const isLocked = (error: unknown): boolean => codeOf(error) === '55P03';

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
