import type { Logger } from 'pino';
import { sharedNow } from '../../clock.ts';
import type { Database, Transaction } from '../../database/client.ts';
import { runWithPrisma, statement } from '../../database/statement.ts';
import { databaseTime } from '../../database/time.ts';
import type { EventPayload } from '../../events/types.ts';
import { formatUsd } from '../../money.ts';
import type { EventService } from '../events/service.ts';
import { closeBooks, keepProject } from '../projects/books-lock.ts';
import { readBuckets, topEndpoints } from './service.ts';
import { type DueDay, findLocalDays, findUtcDays, type SummaryDay, takeLocalDay, takeUtcDay } from './summary-days.ts';

export type DailySummaries = {
  start(): void;
  stop(): Promise<void>;
  /** Records every summary that is due. `start` does this periodically. @returns how many this call recorded. */
  run(): Promise<number>;
};

/** Days begin on a quarter of an hour in every time zone. */
const QUARTER_MILLISECONDS = 900_000;
/** Checks at least this often, because timers fire late and clocks differ. */
const POLL_INTERVAL_MILLISECONDS = 60_000;
const TOP_ENDPOINTS = 10;

/** Where the days to summarize are listed: a queue for UTC days, and a row per project for the days of other projects. */
const SOURCES = [
  { find: findUtcDays, take: takeUtcDay },
  { find: findLocalDays, take: takeLocalDay },
] as const;

/**
 * Records `revenue.daily_summary` for every finished day when a project had a settled or failed payment. Days missed
 * during downtime are recorded later, oldest first. A day is recorded only once across all processes, because the event's transaction
 * takes it out of its source.
 *
 * @param options `now`: the clock that determines when a day ends, for tests. Defaults to the database's clock. `isOnHold`: whether nothing
 *   may be recorded now, because the days may already have been reported.
 */
export function createDailySummaries(options: {
  db: Database;
  events: EventService;
  log: Logger;
  now?: () => Date;
  isOnHold?: () => boolean;
}): DailySummaries {
  const { db, events, log, now, isOnHold = () => false } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let isStopping = false;

  async function clock(): Promise<Date> {
    return now ? now() : databaseTime(db.pool);
  }

  async function run(): Promise<number> {
    const time = await clock();
    let count = 0;
    for (const { find, take } of SOURCES) {
      let last: DueDay | undefined;
      do {
        const due = await find(db.pool, time, last);
        for (const day of due) {
          if (isStopping || isOnHold()) return count;
          if (await summarize(day, take)) count += 1;
        }
        last = due.at(-1);
      } while (last);
    }
    return count;
  }

  /**
   * @returns false if the day had no payments, another process is recording or has recorded it, or recording it failed
   * and will be retried.
   */
  async function summarize(due: DueDay, take: (typeof SOURCES)[number]['take']): Promise<boolean> {
    const { projectId, day } = due;
    try {
      const isRecorded = await db.prisma.$transaction(async (tx) => {
        await keepProject(tx, projectId);
        const taken = await take(tx, due);
        if (!taken) return false;
        await closeBooks(tx, projectId);
        const data = await summaryOf(tx, taken);
        const event = data && (await events.record(tx, { projectId, type: 'revenue.daily_summary', data }));
        await taken.finish(event?.eventId ?? null);
        return event !== undefined;
      });
      if (isRecorded) events.announce(projectId);
      return isRecorded;
    } catch (error) {
      log.warn({ err: error, projectId, day }, 'failed to record a daily summary; it will be retried');
      return false;
    }
  }

  async function poll(): Promise<void> {
    running = run().catch((error) => log.warn({ err: error }, 'failed to look up due daily summaries; retrying'));
    await running;
    if (isStopping) return;
    const untilNextDay = QUARTER_MILLISECONDS - (sharedNow() % QUARTER_MILLISECONDS);
    timer = setTimeout(poll, Math.min(untilNextDay + 1, POLL_INTERVAL_MILLISECONDS)).unref();
  }

  return {
    run,
    start() {
      isStopping = false;
      void poll();
    },
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await running;
    },
  };
}

type Summary = EventPayload<'revenue.daily_summary'>;

const COUNT_CUSTOMERS = statement(
  'summary-count-customers',
  `SELECT count(DISTINCT "customerId")::int AS "count" FROM "Payment"
   WHERE "projectId" = $1 AND "settledAt" >= $2::timestamptz
     AND "settledAt" < $3::timestamptz`,
);

/** The summary, or undefined if the day needs none because it had no payments. */
async function summaryOf(tx: Transaction, day: SummaryDay): Promise<Summary | undefined> {
  const { projectId, from, to, timeZone } = day;
  const period = { projectId, from, to, interval: 'DAY', timeZone } as const;
  const [sums] = await readBuckets(tx, period, [from]);
  if (!sums || (day.skipsIfEmpty && sums.paymentCount + sums.failedCount === 0)) return undefined;
  const [customers] = await runWithPrisma<{ count: number }>(
    tx,
    COUNT_CUSTOMERS(projectId, from.toISOString(), to.toISOString()),
  );
  const top = await topEndpoints(tx, period, TOP_ENDPOINTS);
  return {
    date: day.day,
    from: from.toISOString(),
    to: to.toISOString(),
    timeZone,
    totalUsd: formatUsd(sums.totalAtomic),
    paymentCount: sums.paymentCount,
    customerCount: customers!.count,
    failedCount: sums.failedCount,
    topEndpoints: top.map(({ endpointId, path, totalAtomic, paymentCount }) => ({
      endpointId,
      path,
      totalUsd: formatUsd(totalAtomic),
      paymentCount,
    })),
  };
}
