import { preparedStatement } from '../../../database/statement.ts';
import type { BatchStep } from '../../../database/write-batcher.ts';
import type { BuyerLimit } from '../../projects/buyers/rules.ts';
import type { PaymentLease } from '../lease.ts';
import { columns } from './rows.ts';

export type CountItem = PaymentLease & {
  limit: BuyerLimit;
  /** The time on the books' clock, or null for the database's. */
  now: Date | null;
};

/** What a buyer has used of a limit in the current period, which ends at `resetsAt`. */
export type BuyerUsage = { requestCount: number; spentAtomic: bigint; resetsAt: Date };

export type CountResult = { isCounted: boolean; usage: BuyerUsage };

type Row = { id: string; isCounted: boolean; requestCount: number; spentAtomic: string; endsAt: Date };

/**
 * Counts CLAIMED payments toward their buyers' limits in the project's current period, unless that would exceed the
 * limit. A payment that is already counted stays counted. Returns undefined for payments that aren't CLAIMED under
 * this lease.
 *
 * A buyer's payments never share a batch, and each locks the buyer's count, so across all processes, only one at a time
 * is compared with the limit. Unverified claims must not be counted, because anyone can make them for any wallet.
 */
export const countStep: BatchStep<CountItem, CountResult | undefined> = {
  keyOf: ({ projectId, payer }) => `${projectId} ${payer}`,
  async run(batch, items) {
    const periods = columns(items, PERIOD_VALUES);
    const [, rows] = await Promise.all([
      batch.query(OPEN(...periods)),
      batch.query<Row>(COUNT(...columns(items, VALUES), ...periods)),
    ]);
    const results = new Map(rows.map(({ id, ...row }) => [id, resultOf(row)]));
    return items.map(({ paymentId }) => results.get(paymentId));
  },
};

function resultOf({ isCounted, requestCount, spentAtomic, endsAt }: Omit<Row, 'id'>): CountResult {
  return { isCounted, usage: { requestCount, spentAtomic: BigInt(spentAtomic), resetsAt: endsAt } };
}

const VALUES = [
  ({ paymentId }) => paymentId,
  ({ leaseToken }) => leaseToken,
  ({ limit }) => limit.maxRequests,
  ({ limit }) => limit.maxSpendAtomic?.toString() ?? null,
] as const satisfies readonly ((item: CountItem) => unknown)[];

/** What identifies the buyer's count. */
const PERIOD_VALUES = [
  ({ projectId }) => projectId,
  ({ payer }) => payer,
  ({ limit }) => limit.period,
  ({ now }) => now?.toISOString() ?? null,
] as const satisfies readonly ((item: CountItem) => unknown)[];

/** The start of a row's period in UTC. `now()` is the same in all statements of a transaction. */
const START = `date_trunc(lower(i."period"), coalesce(i."now", now()), 'UTC')`;

/** This is a separate statement, because a statement can't lock the rows that it inserts or that are inserted meanwhile. */
const OPEN = preparedStatement(
  'buyer-usage-open',
  `
  INSERT INTO "BuyerUsage" ("projectId", "payer", "period", "startsAt", "endsAt")
  SELECT "projectId", "payer", "period"::"BuyerLimitPeriod", "startsAt",
    ("startsAt" AT TIME ZONE 'UTC' + ('1 ' || "period")::interval) AT TIME ZONE 'UTC'
  FROM (
    SELECT i.*, ${START} AS "startsAt"
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS i("projectId", "payer", "period", "now")
  ) i
  ORDER BY "projectId", "payer"
  ON CONFLICT ("projectId", "payer", "period", "startsAt") DO NOTHING`,
);

const COUNT = preparedStatement(
  'buyer-usage-count',
  `
  WITH due AS MATERIALIZED (
    SELECT i.*, p."amountAtomic", p."buyerUsageId", ${START} AS "startsAt"
    FROM unnest($1::text[], $2::int[], $3::int[], $4::numeric[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
      AS i("id", "leaseToken", "maxRequests", "maxSpend", "projectId", "payer", "period", "now")
    JOIN "Payment" p ON p."id" = i."id"
    WHERE p."leaseToken" = i."leaseToken" AND p."status" = 'CLAIMED'
    ORDER BY p."id" FOR NO KEY UPDATE OF p
  ), used AS MATERIALIZED (
    SELECT u."id" AS "usageId", u."requestCount", u."spentAtomic", u."endsAt", d."id", d."maxRequests", d."maxSpend",
      d."amountAtomic", d."buyerUsageId" IS NOT NULL AS "wasCounted"
    FROM due d JOIN "BuyerUsage" u ON u."projectId" = d."projectId" AND u."payer" = d."payer"
      AND u."period" = d."period"::"BuyerLimitPeriod" AND u."startsAt" = d."startsAt"
    ORDER BY u."id" FOR NO KEY UPDATE OF u
  ), judged AS MATERIALIZED (
    SELECT *, NOT "wasCounted" AND ("maxRequests" IS NULL OR "requestCount" < "maxRequests")
      AND ("maxSpend" IS NULL OR "spentAtomic" + "amountAtomic" <= "maxSpend") AS "isNew"
    FROM used
  ), counted AS (
    UPDATE "BuyerUsage" u SET "requestCount" = u."requestCount" + 1, "spentAtomic" = u."spentAtomic" + j."amountAtomic"
    FROM judged j WHERE u."id" = j."usageId" AND j."isNew"
  ), marked AS (
    UPDATE "Payment" p SET "buyerUsageId" = j."usageId" FROM judged j WHERE p."id" = j."id" AND j."isNew"
  )
  SELECT "id", "wasCounted" OR "isNew" AS "isCounted", "requestCount", "spentAtomic"::text, "endsAt" FROM judged`,
);

/**
 * Common table expressions that remove payments which won't be charged from their buyers' counts.
 *
 * @param from the table expression with the payments.
 */
export function uncounted(from: string): string {
  return `uncounted AS MATERIALIZED (
    SELECT "buyerUsageId" AS "id", count(*)::int AS "count", sum("amountAtomic") AS "total"
    FROM ${from} WHERE "buyerUsageId" IS NOT NULL GROUP BY 1
  ), usage AS MATERIALIZED (
    SELECT "id" FROM "BuyerUsage" WHERE "id" = ANY(ARRAY(SELECT "id" FROM uncounted)) ORDER BY "id" FOR NO KEY UPDATE
  ), released AS (
    UPDATE "BuyerUsage" u SET "requestCount" = u."requestCount" - r."count", "spentAtomic" = u."spentAtomic" - r."total"
    FROM uncounted r JOIN usage l USING ("id") WHERE u."id" = r."id"
  )`;
}
