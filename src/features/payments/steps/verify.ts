import { getAddress } from 'viem';
import { ADVISORY_LOCKS } from '../../../database/advisory-locks.ts';
import { preparedStatement } from '../../../database/statement.ts';
import type { BatchStep } from '../../../database/write-batcher.ts';
import type { Payment } from '../../../generated/prisma/client.ts';
import { newId } from '../../../ids.ts';
import type { EventCause, EventService } from '../../events/service.ts';
import type { PaymentLease } from '../lease.ts';
import { paymentPayload } from '../payload.ts';
import type { FanOut } from './fan-out.ts';
import { openBooks } from './open-books.ts';
import { columns, type PaymentRow, toPayment, touched } from './rows.ts';

/** A payment whose money may not have left the payer's wallet yet. */
export type InFlight = { nonce: `0x${string}`; amountAtomic: bigint };

/** The balance of a payer's wallet at some time after `since`, by the database's clock. */
export type KnownFunds = { balanceAtomic: bigint; since: Date };

/** The payer's other payments in flight, which the balance must also cover. */
export type Reserved = {
  /** The total of all of them. */
  totalAtomic: bigint;
  /** At most 500 of them, the oldest first. */
  others: InFlight[];
};

/** `reserved`: the payer has other payments in flight. `full`: the payer has as many as are allowed. */
export type VerifyResult =
  | { kind: 'verified'; payment: Payment }
  | ({ kind: 'reserved' } & Reserved)
  | { kind: 'full' };

/** How many payments a wallet can have in flight, so that verifying its next one stays cheap. */
export const MAX_IN_FLIGHT = 256;
/** How many nonces the gateway looks up on the chain. The rest count as not paid yet, which is the safe assumption. */
const MAX_NONCES = 500;

export type VerifyItem = PaymentLease & {
  /** Whether the balance is known to cover the payer's other payments in flight. */
  isCovered: boolean;
  /** If set, this balance also determines whether they are covered. */
  funds: KnownFunds | undefined;
  traceContext: string | null;
};

/** `dueTime` and `time` are in milliseconds. The first reserved payment of each payer has the list of `others`. */
type Row = {
  dueId: string;
  dueTime: number;
  payerNumber: number;
  /** `free`, `full`, or `reserved`. */
  kind: string;
  needed: string;
} & {
  others: OtherPayment[] | null;
} & PaymentRow;
/** `time`: when the payment was settled, if it was. `isNew`: whether it is in the same batch. */
type OtherPayment = { id: string; nonce: `0x${string}`; amountAtomic: string; time: number | null; isNew: boolean };

/**
 * Adds CLAIMED payments with a valid authorization to their payers' payments in flight. A payment that is covered, or
 * that is its payer's only payment in flight, becomes VERIFIED, is assigned to its customer, and gets an event.
 * Returns undefined for payments that aren't CLAIMED under this lease. If the payer has too many payments in flight,
 * nothing changes.
 *
 * Across all processes, only one transaction at a time handles a payer, so of two simultaneous payments, the second
 * sees the first. Unverified claims don't count, because anyone can make them for any wallet. Payments
 * settled since the claim do count, because the balance may have been read before the money left. For the same reason,
 * all payments settled since the balance was read count against it.
 */
export function createVerifyStep(
  events: EventService,
  fanOut: FanOut,
): BatchStep<VerifyItem, VerifyResult | undefined> {
  return {
    weightOf: fanOut.weightOf,
    accountOf: fanOut.accountOf,
    keyOf: ({ paymentId }) => paymentId,
    async run(batch, items) {
      const ids = items.map(({ paymentId }) => paymentId);
      const projectIds = items.map(({ projectId }) => projectId);
      const values = columns(items, VALUES);
      const [, books, rows, destinations] = await Promise.all([
        batch.query(LOCK_PAYERS(ids, ADVISORY_LOCKS.payer)),
        openBooks(batch, projectIds),
        batch.query<Row>(VERIFY(...values)),
        events.destinationsOf(batch, projectIds, ['payment.verified']),
      ]);
      fanOut.learn(books, destinations);
      const results = resultsOf(rows);
      events.recordAll(batch, causesOf(items, results), destinations);
      return items.map(({ paymentId }) => results.get(paymentId));
    },
  };
}

function causesOf(items: readonly VerifyItem[], results: ReadonlyMap<string, VerifyResult>): EventCause[] {
  return items.flatMap(({ paymentId, traceContext }) => {
    const result = results.get(paymentId);
    if (result?.kind !== 'verified') return [];
    const { payment } = result;
    const event = { projectId: payment.projectId, type: 'payment.verified', data: paymentPayload(payment) } as const;
    return [{ event, traceContext }];
  });
}

function resultsOf(rows: readonly Row[]): Map<string, VerifyResult> {
  const othersOf = new Map(rows.flatMap(({ payerNumber, others }) => (others ? [[payerNumber, others]] : [])));
  return new Map(rows.map((row) => [row.dueId, resultOf(row, othersOf.get(row.payerNumber) ?? [])]));
}

function resultOf({ dueId, dueTime, kind, needed, ...row }: Row, others: readonly OtherPayment[]): VerifyResult {
  if (kind === 'full') return { kind: 'full' };
  const { payerNumber: _, others: __, ...payment } = row;
  if (kind === 'free') return { kind: 'verified', payment: toPayment(payment) };
  // The list is the same for all of a payer's payments. These are the ones that `needed` includes.
  const counted = others.filter(
    ({ id, time, isNew }) => id !== dueId && (time === null || time >= dueTime) && (!isNew || id < dueId),
  );
  return {
    kind: 'reserved',
    totalAtomic: BigInt(needed),
    others: counted.map(({ nonce, amountAtomic }) => ({ nonce, amountAtomic: BigInt(amountAtomic) })),
  };
}

const VALUES = [
  ({ paymentId }) => paymentId,
  ({ leaseToken }) => leaseToken,
  ({ isCovered }) => isCovered,
  ({ payer }) => getAddress(payer),
  () => newId('Customer'),
  ({ funds }) => funds?.balanceAtomic.toString() ?? null,
  ({ funds }) => funds?.since.toISOString() ?? null,
] as const satisfies readonly ((item: VerifyItem) => unknown)[];

/**
 * This is a separate statement, because a statement doesn't see changes that were made while it waited for its locks.
 */
const LOCK_PAYERS = preparedStatement(
  'payment-payers',
  `
  SELECT pg_advisory_xact_lock($2::int, "payer")::text AS "locked" FROM (
    SELECT DISTINCT hashtext("network" || ' ' || "assetAddress" || ' ' || "payer") AS "payer" FROM "Payment"
    WHERE "id" = ANY($1::text[]) ORDER BY 1
  ) AS payers`,
);

const PAYER = '"network", "assetAddress", "payer"';
const SAME_PAYER = 'o."payer" = p."payer" AND o."network" = p."network" AND o."assetAddress" = p."assetAddress"';
const SAME_WALLET = 'p."payer" = j."payer" AND p."network" = j."network" AND p."assetAddress" = j."assetAddress"';

/**
 * The payments in flight are read and added up once per payer, not once per payment, because one payer can send a whole
 * batch. Those that are new in this batch are added with a running total.
 */
const VERIFY = preparedStatement(
  'payment-verify',
  `
  WITH due AS MATERIALIZED (
    SELECT p."id", p."projectId", p."network", p."assetAddress", p."payer", p."nonce", p."amountAtomic", p."verifiedAt",
      p."updatedAt", i."isCovered", i."walletAddress", i."customerId", i."balance", i."since"
    FROM unnest($1::text[], $2::int[], $3::boolean[], $4::text[], $5::text[], $6::numeric[], $7::timestamptz[])
      AS i("id", "leaseToken", "isCovered", "walletAddress", "customerId", "balance", "since")
    JOIN "Payment" p ON p."id" = i."id"
    WHERE p."leaseToken" = i."leaseToken" AND p."status" = 'CLAIMED'
    ORDER BY p."id" FOR NO KEY UPDATE OF p
  ), payer AS MATERIALIZED (
    SELECT ${PAYER}, min("updatedAt") AS "claimedAt", min(least("updatedAt", "since")) AS "since"
    FROM due WHERE NOT "isCovered" GROUP BY ${PAYER}
  ), open AS MATERIALIZED (
    SELECT p.*, o."id", o."nonce", o."amountAtomic" FROM payer p JOIN "Payment" o
    ON ${SAME_PAYER} AND o."leasedUntil" IS NOT NULL AND o."verifiedAt" IS NOT NULL
  ), settled AS MATERIALIZED (
    SELECT p.*, o."id", o."nonce", o."amountAtomic", o."updatedAt" AS "at" FROM payer p JOIN "Payment" o
    ON ${SAME_PAYER} AND o."status" = 'SETTLED' AND o."updatedAt" >= p."since"
  ), before AS MATERIALIZED (
    SELECT d."id", sum(s."amountAtomic") AS "total",
      coalesce(sum(s."amountAtomic") FILTER (WHERE s."at" >= d."updatedAt"), 0) AS "recent"
    FROM due d JOIN settled s USING (${PAYER})
    WHERE NOT d."isCovered" AND s."at" >= least(d."updatedAt", d."since") GROUP BY d."id"
  ), counted AS (
    SELECT d.*, dense_rank() OVER (ORDER BY ${PAYER})::int AS "payerNumber",
      coalesce(o."count", 0) - own."count" + count(*) FILTER (WHERE d."verifiedAt" IS NULL) OVER earlier AS "count",
      coalesce(o."total", 0) - own."count" * d."amountAtomic"
        + coalesce(sum(d."amountAtomic") FILTER (WHERE d."verifiedAt" IS NULL) OVER earlier, 0) AS "total"
    FROM due d CROSS JOIN LATERAL (SELECT (d."verifiedAt" IS NOT NULL)::int AS "count") own LEFT JOIN (
      SELECT ${PAYER}, count(*) AS "count", sum("amountAtomic") AS "total" FROM open GROUP BY ${PAYER}
    ) o USING (${PAYER})
    WINDOW earlier AS (PARTITION BY ${PAYER} ORDER BY d."id" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  ), judged AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY "payerNumber", "kind" ORDER BY "id") = 1 AS "isFirst" FROM (
      SELECT c.*, c."total" + coalesce(b."recent", 0) AS "needed", CASE
        WHEN c."isCovered" THEN 'free'
        WHEN c."verifiedAt" IS NULL AND c."count" >= ${MAX_IN_FLIGHT} THEN 'full'
        WHEN c."count" = 0 AND coalesce(b."recent", 0) = 0 THEN 'free'
        WHEN c."amountAtomic" + c."total" + coalesce(b."total", 0) <= c."balance" THEN 'free'
        ELSE 'reserved' END AS "kind"
      FROM counted c LEFT JOIN before b USING ("id")
    ) c
  ), free AS MATERIALIZED (
    SELECT * FROM judged WHERE "kind" = 'free'
  ), reserved AS (
    UPDATE "Payment" p SET "verifiedAt" = clock_timestamp(), ${touched('p')}
    FROM judged j WHERE p."id" = j."id" AND j."kind" = 'reserved'
  ), known AS MATERIALIZED (
    SELECT c."id", c."projectId", c."walletAddress" FROM "Customer" c
    JOIN (SELECT DISTINCT "projectId", "walletAddress" FROM free) f USING ("projectId", "walletAddress")
  ), created AS (
    INSERT INTO "Customer" ("id", "projectId", "walletAddress")
    SELECT DISTINCT ON (f."projectId", f."walletAddress") f."customerId", f."projectId", f."walletAddress" FROM free f
    WHERE NOT EXISTS (
      SELECT FROM known k WHERE k."projectId" = f."projectId" AND k."walletAddress" = f."walletAddress"
    )
    ORDER BY f."projectId", f."walletAddress", f."id"
    -- Another process may have just created it. An update returns its ID.
    ON CONFLICT ("projectId", "walletAddress") DO UPDATE SET "walletAddress" = excluded."walletAddress"
    RETURNING "id", "projectId", "walletAddress"
  ), customer AS (
    SELECT * FROM known UNION ALL SELECT * FROM created
  ), moved AS (
    UPDATE "Payment" p SET "status" = 'VERIFIED', "verifiedAt" = clock_timestamp(), "customerId" = c."id", ${touched('p')}
    FROM free f JOIN customer c USING ("projectId", "walletAddress") WHERE p."id" = f."id"
    RETURNING p.*
  )
  SELECT j."id" AS "dueId", (extract(epoch FROM j."updatedAt") * 1000)::float8 AS "dueTime", j."payerNumber", j."kind",
    j."needed"::text, m.*, CASE WHEN j."kind" = 'reserved' AND j."isFirst" THEN (
      SELECT json_agg(json_build_object('id', "id", 'nonce', "nonce", 'amountAtomic', "amountAtomic"::text,
        'time', extract(epoch FROM "at") * 1000, 'isNew', "isNew"))
      FROM (
        SELECT "id", "nonce", "amountAtomic", NULL::timestamptz AS "at", false AS "isNew" FROM open p WHERE ${SAME_WALLET}
        UNION ALL
        SELECT "id", "nonce", "amountAtomic", "at", false FROM settled p WHERE ${SAME_WALLET} AND "at" >= "claimedAt"
        UNION ALL
        SELECT "id", "nonce", "amountAtomic", NULL, true FROM judged p
        WHERE ${SAME_WALLET} AND "verifiedAt" IS NULL AND "kind" <> 'full'
        ORDER BY 1 LIMIT ${MAX_NONCES}
      ) o
    ) END AS "others"
  FROM judged j LEFT JOIN moved m ON m."id" = j."id"`,
);
