import type { Logger } from 'pino';
import { sharedNow } from '../../clock.ts';
import type { Database, Transaction } from '../../database/client.ts';
import type { EventPayload } from '../../events/kinds.ts';
import { formatUsd } from '../../money.ts';
import type { EventService } from '../events/service.ts';
import { closeBooks, keepProject } from '../payments/books-lock.ts';
import { topEndpoints } from './service.ts';

export type DailySummaries = {
  start(): void;
  stop(): Promise<void>;
  /** Records every summary that is due, as `start` does by itself. @returns how many this call recorded. */
  run(): Promise<number>;
};

type DueDay = { projectId: string; day: string };

const DAY_MILLISECONDS = 86_400_000;
/** Timers are late and clocks differ: it looks this often at least. */
const LOOK_MILLISECONDS = 60_000;
const BATCH_SIZE = 200;
const TOP_ENDPOINTS = 10;

/**
 * Records `revenue.daily_summary` for every finished UTC day on which a project had a payment, settled or failed; a day
 * with neither has none. Days are queued when their first payment is booked, so those that a downtime has missed are
 * made up for, the oldest first. Each is recorded once, by whichever process comes first: it leaves the queue in the
 * event's transaction.
 *
 * @param options `now`: the clock that finishes days, for tests; the database's otherwise.
 */
export function createDailySummaries(options: {
  db: Database;
  events: EventService;
  log: Logger;
  now?: () => Date;
}): DailySummaries {
  const { db, events, log, now } = options;
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
      // Past Prisma, which takes 50 MB when it is first used: most looks find nothing.
      const { rows: due } = await db.pool.query<DueDay>(
        `SELECT "projectId", "day"::text AS "day" FROM "DailySummary"
         WHERE "eventId" IS NULL AND "day" < $1::date AND ("day", "projectId") > ($2::date, $3)
         ORDER BY "day", "projectId" LIMIT $4`,
        [today, last.day, last.projectId, BATCH_SIZE],
      );
      for (const day of due) {
        if (isStopping) return count;
        if (await summarise(day)) count += 1;
      }
      if (due.length < BATCH_SIZE) return count;
      last = due.at(-1)!;
    }
  }

  /** @returns false when another process does it or has done it, and when it has to wait for the next look. */
  async function summarise(due: DueDay): Promise<boolean> {
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
      log.warn({ err: error, projectId, day }, 'a daily summary was not recorded; the next look will try again');
      return false;
    }
  }

  async function look(): Promise<void> {
    running = run().catch((error) => log.warn({ err: error }, 'due daily summaries were not found; trying again'));
    await running;
    if (isStopping) return;
    const untilMidnight = DAY_MILLISECONDS - (sharedNow() % DAY_MILLISECONDS);
    timer = setTimeout(look, Math.min(untilMidnight + 1, LOOK_MILLISECONDS)).unref();
  }

  return {
    run,
    start() {
      isStopping = false;
      void look();
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
