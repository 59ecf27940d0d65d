import type { Queryable, Transaction } from '../../database/client.ts';
import { executeWithPrisma, runStatement, runWithPrisma, statement } from '../../database/statement.ts';
import { addDays, startOfDate } from '../../time-zone.ts';
import { periodFrom, type SummaryPeriod, writeSummaryPeriod } from '../projects/summary-period.ts';

/** A day that has ended, and may have to be summarized. */
export type DueDay = { projectId: string; day: string; to: Date };

/** A day to summarize in this transaction. No other transaction can take it. */
export type SummaryDay = {
  projectId: string;
  day: string;
  from: Date;
  to: Date;
  timeZone: string;
  /** Whether there is no summary if the day had no payments. */
  skipsIfEmpty: boolean;
  /** Takes the day out of its source. `eventId` is null if it was skipped. */
  finish(eventId: string | null): Promise<void>;
};

const BATCH_SIZE = 200;

// Most checks find nothing, so finding days avoids Prisma, which takes up 50 MB of memory once it is used.

const FIND_UTC_DAYS = statement(
  'summary-find-utc-days',
  `SELECT "projectId", "day"::text AS "day" FROM "DailySummary"
   WHERE "eventId" IS NULL AND "day" < $1::date AND ("day", "projectId") > ($2::date, $3)
   ORDER BY "day", "projectId" LIMIT $4`,
);

/** UTC days are queued when their first payment is booked. */
export async function findUtcDays(db: Queryable, now: Date, after?: DueDay): Promise<DueDay[]> {
  const { rows } = await runStatement<Omit<DueDay, 'to'>>(
    db,
    FIND_UTC_DAYS(now.toISOString().slice(0, 10), after?.day ?? '0001-01-01', after?.projectId ?? '', BATCH_SIZE),
  );
  return rows.map((row) => ({ ...row, to: startOfDate(addDays(row.day, 1), 'UTC') }));
}

const TAKE_UTC_DAY = statement(
  'summary-take-utc-day',
  `SELECT 1 FROM "DailySummary" WHERE "projectId" = $1 AND "day" = $2::date AND "eventId" IS NULL
   FOR UPDATE SKIP LOCKED`,
);

export async function takeUtcDay(tx: Transaction, { projectId, day, to }: DueDay): Promise<SummaryDay | undefined> {
  const free = await runWithPrisma(tx, TAKE_UTC_DAY(projectId, day));
  if (free.length === 0) return undefined;
  return {
    projectId,
    day,
    from: startOfDate(day, 'UTC'),
    to,
    timeZone: 'UTC',
    skipsIfEmpty: false,
    async finish(eventId) {
      await tx.dailySummary.update({
        where: { projectId_day: { projectId, day: new Date(day) } },
        data: { eventId },
      });
    },
  };
}

const FIND_LOCAL_DAYS = statement(
  'summary-find-local-days',
  `SELECT "projectId", "day"::text AS "day", "to" FROM "SummaryPeriod"
   WHERE "to" <= $1 AND ("to", "projectId") > ($2, $3) ORDER BY "to", "projectId" LIMIT $4`,
);

/** Projects that have had another time zone have one day at a time, which is followed by the next one when it is taken. */
export async function findLocalDays(db: Queryable, now: Date, after?: DueDay): Promise<DueDay[]> {
  const { rows } = await runStatement<DueDay>(
    db,
    FIND_LOCAL_DAYS(now.toISOString(), after?.to.toISOString() ?? '-infinity', after?.projectId ?? '', BATCH_SIZE),
  );
  return rows;
}

const TAKE_LOCAL_DAY = statement(
  'summary-take-local-day',
  `SELECT s."lastDay"::text AS "lastDay", s."day"::text AS "day", s."from", s."to", p."timeZone"
   FROM "SummaryPeriod" s JOIN "Project" p ON p."id" = s."projectId"
   WHERE s."projectId" = $1 AND s."to" = $2::timestamptz FOR UPDATE OF s SKIP LOCKED`,
);

const FINISH = statement(
  'summary-finish-utc-day',
  `INSERT INTO "DailySummary" ("projectId", "day", "eventId") VALUES ($1, $2::date, $3)
   ON CONFLICT DO NOTHING`,
);

export async function takeLocalDay(tx: Transaction, { projectId, to }: DueDay): Promise<SummaryDay | undefined> {
  const [period] = await runWithPrisma<SummaryPeriod & { timeZone: string }>(
    tx,
    TAKE_LOCAL_DAY(projectId, to.toISOString()),
  );
  if (!period) return undefined;
  const { day, from, timeZone } = period;
  return {
    projectId,
    day,
    from,
    to,
    timeZone,
    skipsIfEmpty: true,
    async finish(eventId) {
      if (eventId !== null) {
        await executeWithPrisma(tx, FINISH(projectId, day, eventId));
      }
      await writeSummaryPeriod(tx, projectId, periodFrom(to, day, timeZone));
    },
  };
}
