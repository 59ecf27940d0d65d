import type { Queryable, Transaction } from '../../database/client.ts';
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

/** UTC days are queued when their first payment is booked. */
export async function findUtcDays(db: Queryable, now: Date, after?: DueDay): Promise<DueDay[]> {
  const { rows } = await db.query<Omit<DueDay, 'to'>>(
    `SELECT "projectId", "day"::text AS "day" FROM "DailySummary"
     WHERE "eventId" IS NULL AND "day" < $1::date AND ("day", "projectId") > ($2::date, $3)
     ORDER BY "day", "projectId" LIMIT $4`,
    [now.toISOString().slice(0, 10), after?.day ?? '0001-01-01', after?.projectId ?? '', BATCH_SIZE],
  );
  return rows.map((row) => ({ ...row, to: startOfDate(addDays(row.day, 1), 'UTC') }));
}

export async function takeUtcDay(tx: Transaction, { projectId, day, to }: DueDay): Promise<SummaryDay | undefined> {
  const free = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM "DailySummary" WHERE "projectId" = ${projectId} AND "day" = ${day}::date AND "eventId" IS NULL
    FOR UPDATE SKIP LOCKED`;
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

/** Projects that have had another time zone have one day at a time, which is followed by the next one when it is taken. */
export async function findLocalDays(db: Queryable, now: Date, after?: DueDay): Promise<DueDay[]> {
  const { rows } = await db.query<DueDay>(
    `SELECT "projectId", "day"::text AS "day", "to" FROM "SummaryPeriod"
     WHERE "to" <= $1 AND ("to", "projectId") > ($2, $3) ORDER BY "to", "projectId" LIMIT $4`,
    [now.toISOString(), after?.to.toISOString() ?? '-infinity', after?.projectId ?? '', BATCH_SIZE],
  );
  return rows;
}

export async function takeLocalDay(tx: Transaction, { projectId, to }: DueDay): Promise<SummaryDay | undefined> {
  const [period] = await tx.$queryRaw<(SummaryPeriod & { timeZone: string })[]>`
    SELECT s."lastDay"::text AS "lastDay", s."day"::text AS "day", s."from", s."to", p."timeZone"
    FROM "SummaryPeriod" s JOIN "Project" p ON p."id" = s."projectId"
    WHERE s."projectId" = ${projectId} AND s."to" = ${to.toISOString()}::timestamptz FOR UPDATE OF s SKIP LOCKED`;
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
        await tx.$executeRaw`
          INSERT INTO "DailySummary" ("projectId", "day", "eventId") VALUES (${projectId}, ${day}::date, ${eventId})
          ON CONFLICT DO NOTHING`;
      }
      await writeSummaryPeriod(tx, projectId, periodFrom(to, day, timeZone));
    },
  };
}
