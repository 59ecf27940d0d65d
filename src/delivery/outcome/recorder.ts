import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { AttemptRecord } from '../model/claimed-delivery.ts';
import type { Settlement } from '../model/outcome.ts';
import type { createHealth } from './health.ts';
import { recordSettlements } from './record.ts';

export type RecorderOptions = {
  pool: pg.Pool;
  health: ReturnType<typeof createHealth>;
  log: Logger;
  /** Told of every settlement once it is written or void. */
  onRecorded: (settlements: readonly Settlement[]) => void;
  /** Told of every connector that is paused by what was written. */
  onPaused?: (connectorId: string) => void;
  /** Told of every failure to write, which is tried again. */
  onError?: () => void;
};

const BATCH_SIZE = 256;
// After a pause a result is written soon. While more keep coming, larger batches cost less.
const COLLECT_MILLISECONDS = { first: 3, next: 10 };
const MIN_BACKOFF_MILLISECONDS = 100;
// Soon once the database is back: a process that is killed before has sent what nobody knows of.
const MAX_BACKOFF_MILLISECONDS = 250;
const LOG_EVERY_MILLISECONDS = 10_000;

/**
 * Collects results and writes them in batches, one after the other. While the database is away they are kept: the worker
 * takes nothing new meanwhile, so they cannot become more than it may have in flight.
 */
export function createRecorder({ pool, health, log, onRecorded, onPaused, onError }: RecorderOptions) {
  let waiting: Settlement[] = [];
  let running: Promise<void> | undefined;
  let isAbandoned = false;

  function add(settlements: readonly Settlement[]): void {
    if (isAbandoned) return;
    waiting.push(...settlements);
    running ??= run();
  }

  async function run(): Promise<void> {
    let milliseconds = COLLECT_MILLISECONDS.first;
    while (waiting.length > 0 && !isAbandoned) {
      if (waiting.length < BATCH_SIZE) await sleep(milliseconds);
      const batch = waiting.slice(0, BATCH_SIZE);
      waiting = waiting.slice(BATCH_SIZE);
      await write(batch);
      milliseconds = COLLECT_MILLISECONDS.next;
    }
    running = undefined;
  }

  async function write(batch: readonly Settlement[]): Promise<void> {
    let backoff = MIN_BACKOFF_MILLISECONDS;
    let loggedAt = Number.NEGATIVE_INFINITY;
    while (!isAbandoned) {
      try {
        await health.apply(batch);
        const { written, paused } = await recordSettlements(pool, batch);
        warnOfVoid(batch, written);
        for (const connector of paused) {
          health.onPaused(connector);
          onPaused?.(connector.id);
        }
        onRecorded(batch);
        return;
      } catch (error) {
        onError?.();
        if (isPermanent(error)) return writeApart(batch, error);
        if (isLocked(error)) return setAside(batch);
        if (performance.now() - loggedAt > LOG_EVERY_MILLISECONDS) {
          loggedAt = performance.now();
          log.error(
            { err: error, results: batch.length + waiting.length },
            'results of deliveries wait for the database',
          );
        }
        await sleep(backoff);
        backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLISECONDS);
      }
    }
  }

  /** While rows of a project are locked (it may be being deleted), the results of others are written without its own. */
  async function setAside(batch: readonly Settlement[]): Promise<void> {
    const projects = [...Map.groupBy(batch, ({ delivery }) => delivery.projectId).values()];
    if (projects.length === 1) waiting.push(...batch);
    else for (const project of projects) await write(project);
  }

  /** One result that the database will not take must not hold up the others. What it says is worth less than what it is. */
  async function writeApart(batch: readonly Settlement[], error: unknown): Promise<void> {
    const [first] = batch;
    if (batch.length > 1) {
      for (const settlement of batch) await write([settlement]);
    } else if (first && hasTexts(first)) {
      await write([{ ...first, attempts: first.attempts.map(withoutTexts), remember: {} }]);
    } else {
      log.error({ err: error, deliveryId: first?.delivery.id }, 'the result of a delivery cannot be written');
      onRecorded(batch);
    }
  }

  function warnOfVoid(batch: readonly Settlement[], written: ReadonlySet<string>): void {
    const deliveryIds = batch.map(({ delivery }) => delivery.id).filter((id) => !written.has(id));
    if (deliveryIds.length > 0) log.warn({ deliveryIds }, 'results came after the lease had passed on, and are void');
  }

  return {
    add,
    /** Resolves when nothing is left to write. */
    async drained(): Promise<void> {
      while (running) await running;
    },
    /** Forgets what is not written; somebody else will do it again. */
    abandon(): void {
      isAbandoned = true;
      waiting = [];
    },
  };
}

function hasTexts({ attempts, remember }: Settlement): boolean {
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

// SQLSTATE classes that say that the data or the statement is at fault: https://www.postgresql.org/docs/current/errcodes-appendix.html
const PERMANENT_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '42']);

function isPermanent(error: unknown): boolean {
  const code = codeOf(error);
  return typeof code === 'string' && code.length === 5 && PERMANENT_CLASSES.has(code.slice(0, 2));
}

/** lock_not_available. It comes after the lock timeout, so that trying again at once asks for little. */
const isLocked = (error: unknown): boolean => codeOf(error) === '55P03';

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
