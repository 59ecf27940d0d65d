import type { Transaction } from '../../database/client.ts';
import { executeWithPrisma, runWithPrisma, statement } from '../../database/statement.ts';
import { databaseTimeIn } from '../../database/time.ts';
import type { Project } from '../../generated/prisma/client.ts';
import { addDays, dateAt, startOfDate } from '../../time-zone.ts';
import { closeBooks } from './books-lock.ts';

/**
 * A day of a project, for its daily summary and its bookings. Usually, it is a day in the project's time zone. After
 * the time zone was changed, it begins where the day before it ended, so days never overlap, and nothing is between
 * them.
 */
export type SummaryPeriod = {
  /** The date of the day before it, or a later one that can't be used either, as YYYY-MM-DD. */
  lastDay: string;
  day: string;
  from: Date;
  to: Date;
};

/**
 * The day that begins at `from`, until midnight. Each date is used only once, because bookings are numbered by date. If
 * it is still the last day in this time zone, or earlier, the day ends with the next date.
 */
export function periodFrom(from: Date, lastDay: string, timeZone: string): SummaryPeriod {
  const today = dateAt(from, timeZone);
  const day = today > lastDay ? today : addDays(lastDay, 1);
  return { lastDay, day, from, to: startOfDate(addDays(day, 1), timeZone) };
}

/** The date for booking a payment that settled in the given day or later. */
export function bookingDate({ day, to }: Pick<SummaryPeriod, 'day' | 'to'>, settledAt: Date, timeZone: string): string {
  return settledAt < to ? day : dateAt(settledAt, timeZone);
}

/** Starts the first day of a new project, unless its days are in UTC. */
export async function startSummaryPeriod(tx: Transaction, { id, timeZone }: Pick<Project, 'id' | 'timeZone'>) {
  if (timeZone === 'UTC') return;
  const today = dateAt(await databaseTimeIn(tx), timeZone);
  await writeSummaryPeriod(tx, id, periodFrom(startOfDate(today, timeZone), addDays(today, -1), timeZone));
}

const LOCK_PERIOD = statement(
  'summary-period-lock',
  `SELECT "lastDay"::text AS "lastDay", "from" FROM "SummaryPeriod" WHERE "projectId" = $1 FOR UPDATE`,
);

/**
 * Makes the project's current day end at midnight in its new time zone. If that was earlier today, the day has ended.
 * Lock the project's row first.
 *
 * @param now for tests. Defaults to the database's clock.
 */
export async function moveSummaryPeriod(
  tx: Transaction,
  { id, timeZone }: Pick<Project, 'id' | 'timeZone'>,
  now?: Date,
): Promise<void> {
  // Summaries also lock the row before the books.
  const [current] = await runWithPrisma<Pick<SummaryPeriod, 'lastDay' | 'from'>>(tx, LOCK_PERIOD(id));
  await closeBooks(tx, id);
  const { from, lastDay } = current ?? (await leaveQueue(tx, id, now ?? (await databaseTimeIn(tx))));
  await writeSummaryPeriod(tx, id, periodFrom(from, lastDay, timeZone));
}

const WRITE_PERIOD = statement(
  'summary-period-write',
  `INSERT INTO "SummaryPeriod" ("projectId", "lastDay", "day", "from", "to")
   VALUES ($1, $2::date, $3::date, $4::timestamptz, $5::timestamptz)
   ON CONFLICT ("projectId") DO UPDATE SET "lastDay" = EXCLUDED."lastDay", "day" = EXCLUDED."day",
     "from" = EXCLUDED."from", "to" = EXCLUDED."to"`,
);

export async function writeSummaryPeriod(tx: Transaction, projectId: string, period: SummaryPeriod): Promise<void> {
  const { lastDay, day, from, to } = period;
  await executeWithPrisma(tx, WRITE_PERIOD(projectId, lastDay, day, from.toISOString(), to.toISOString()));
}

/** Takes the current UTC day out of the queue of days to summarize. Earlier days stay there. */
async function leaveQueue(tx: Transaction, projectId: string, now: Date) {
  const today = dateAt(now, 'UTC');
  await tx.dailySummary.deleteMany({ where: { projectId, day: { gte: new Date(today) }, eventId: null } });
  return { from: startOfDate(today, 'UTC'), lastDay: addDays(today, -1) };
}
