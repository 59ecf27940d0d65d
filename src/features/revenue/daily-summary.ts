import type { Logger } from 'pino';
import { sharedNow } from '../../clock.ts';
import type { Database, Transaction } from '../../database/client.ts';
import type { EventPayload } from '../../events/types.ts';
import { formatUsd } from '../../money.ts';
import type { EventService } from '../events/service.ts';
import { closeBooks, keepProject } from '../payments/books-lock.ts';
import { topEndpoints } from './service.ts';

export type DailySummaries = {
  start(): void;
  stop(): Promise<void>;
  /** Records every summary that is due. `start` does this periodically. @returns how many this call recorded. */
  run(): Promise<number>;
};

type DueDay = { projectId: string; day: string };

const DAY_MILLISECONDS = 86_400_000;
/** Checks at least this often, because timers fire late and clocks differ. */
const POLL_INTERVAL_MILLISECONDS = 60_000;
const BATCH_SIZE = 200;
const TOP_ENDPOINTS = 10;

/**
 * Records `revenue.daily_summary` for every finished UTC day when a project had a settled or failed payment. Days are
 * queued when their first payment is booked, so days missed during downtime are recorded later, oldest first. A day is
 * recorded only once across all processes, because it leaves the queue in the event's transaction.
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
    if (now) return now();
    const { rows } = await db.pool.query<{ now: Date }>('SELECT clock_timestamp() AS "now"');
    return rows[0]!.now;
  }

  async function run(): Promise<number> {
    const today = (await clock()).toISOString().slice(0, 10);
    let count = 0;
    let last: DueDay = { day: '0001-01-01', projectId: '' };
    for (;;) {
      // Most checks find nothing, so this avoids Prisma, which takes up 50 MB of memory once it is used.
      const { rows: due } = await db.pool.query<DueDay>(
        `SELECT "projectId", "day"::text AS "day" FROM "DailySummary"
         WHERE "eventId" IS NULL AND "day" < $1::date AND ("day", "projectId") > ($2::date, $3)
         ORDER BY "day", "projectId" LIMIT $4`,
        [today, last.day, last.projectId, BATCH_SIZE],
      );
      for (const day of due) {
        if (isStopping || isOnHold()) return count;
        if (await summarize(day)) count += 1;
      }
      if (due.length < BATCH_SIZE) return count;
      last = due.at(-1)!;
    }
  }

  /**
   * @returns false if another process is recording or has recorded the day, or if recording it failed and will be
   * retried.
   */
  async function summarize(due: DueDay): Promise<boolean> {
    const { projectId, day } = due;
    try {
      const isRecorded = await db.prisma.$transaction(async (tx) => {
        await keepProject(tx, projectId);
        const free = await tx.$queryRaw<unknown[]>`
          SELECT 1 FROM "DailySummary" WHERE "projectId" = ${projectId} AND "day" = ${day}::date AND "eventId" IS NULL
          FOR UPDATE SKIP LOCKED`;
        if (free.length === 0) return false;
        await closeBooks(tx, projectId);
        const data = await summaryOf(tx, due);
        const { eventId } = await events.record(tx, { projectId, type: 'revenue.daily_summary', data });
        await tx.dailySummary.update({
          where: { projectId_day: { projectId, day: new Date(day) } },
          data: { eventId },
        });
        return true;
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
    const untilMidnight = DAY_MILLISECONDS - (sharedNow() % DAY_MILLISECONDS);
    timer = setTimeout(poll, Math.min(untilMidnight + 1, POLL_INTERVAL_MILLISECONDS)).unref();
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

async function summaryOf(tx: Transaction, { projectId, day }: DueDay): Promise<EventPayload<'revenue.daily_summary'>> {
  const from = new Date(day);
  const to = new Date(from.getTime() + DAY_MILLISECONDS);
  const [sums] = await tx.$queryRaw<[{ total: string; paymentCount: number; failedCount: number }]>`
    SELECT coalesce(sum("totalAtomic"), 0)::text AS "total", coalesce(sum("paymentCount"), 0)::int AS "paymentCount",
      coalesce(sum("failedCount"), 0)::int AS "failedCount"
    FROM "RevenueDay" WHERE "projectId" = ${projectId} AND "day" = ${day}::date`;
  const [customers] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(DISTINCT "customerId")::int AS "count" FROM "Payment"
    WHERE "projectId" = ${projectId} AND "settledAt" >= ${from.toISOString()}::timestamptz
      AND "settledAt" < ${to.toISOString()}::timestamptz`;
  const top = await topEndpoints(tx, { projectId, from, to, interval: 'DAY' }, TOP_ENDPOINTS);
  return {
    date: day,
    totalUsd: formatUsd(BigInt(sums.total)),
    paymentCount: sums.paymentCount,
    customerCount: customers.count,
    failedCount: sums.failedCount,
    topEndpoints: top.map(({ endpointId, path, totalAtomic, paymentCount }) => ({
      endpointId,
      path,
      totalUsd: formatUsd(totalAtomic),
      paymentCount,
    })),
  };
}
