import { getAddress } from 'viem';
import { ADVISORY_LOCKS } from '../../../database/advisory-locks.ts';
import type { BatchStep } from '../../../database/lane.ts';
import type { Payment } from '../../../generated/prisma/client.ts';
import { newId } from '../../../ids.ts';
import type { EventCause, EventService } from '../../events/service.ts';
import type { PaymentLease } from '../lease.ts';
import { paymentPayload } from '../payload.ts';
import { openBooks } from './open-books.ts';
import { columns, type PaymentRow, toPayment, touched } from './rows.ts';

/** A payment whose money may not have left the payer's wallet yet. */
export type InFlight = { nonce: `0x${string}`; amountAtomic: bigint };

/** What a payer's wallet contained at some time after `since`, which is a time by the database's clock. */
export type KnownFunds = { balanceAtomic: bigint; since: Date };

/** `held`: the payer has other payments in flight, which the balance must cover too. */
export type VerifyResult = { kind: 'verified'; payment: Payment } | { kind: 'held'; others: InFlight[] };

export type VerifyItem = PaymentLease & {
  /** Whether the balance is known to cover the payer's other payments in flight. */
  isCovered: boolean;
  /** If set, this balance also decides whether they are covered. */
  funds: KnownFunds | undefined;
  traceContext: string | null;
};

type Row = { dueId: string; others: { nonce: `0x${string}`; amountAtomic: string }[] | null } & PaymentRow;

/**
 * Adds CLAIMED payments with a valid authorization to their payers' payments in flight. A payment that is covered, or
 * that is its payer's only payment in flight, becomes VERIFIED, is assigned to its customer, and causes its event.
 * Returns undefined for payments that aren't CLAIMED under this lease.
 *
 * Across all processes, only one transaction at a time looks at a payer, so of two simultaneous payments, the second
 * sees the first. Unverified claims don't count, because anyone can make them in the name of any wallet. Payments
 * settled since the claim do count, because the balance may have been read before the money left. For the same reason,
 * all payments settled since the known balance count toward it.
 */
export function createVerifyStep(events: EventService): BatchStep<VerifyItem, VerifyResult | undefined> {
  return {
    keyOf: ({ paymentId }) => paymentId,
    async run(batch, items) {
      const ids = items.map(({ paymentId }) => paymentId);
      const projectIds = items.map(({ projectId }) => projectId);
      const values = columns(items, VALUES);
      const [, , rows, destinations] = await Promise.all([
        batch.query({ name: 'payment-payers', text: LOCK_PAYERS, values: [ids, ADVISORY_LOCKS.payer] }),
        openBooks(batch, projectIds),
        batch.query<Row>({ name: 'payment-verify', text: VERIFY, values }),
        events.destinationsOf(batch, projectIds, ['payment.verified']),
      ]);
      const results = new Map(rows.map((row) => [row.dueId, resultOf(row)]));
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

function resultOf({ dueId, others, ...row }: Row): VerifyResult {
  if (row.id !== null) return { kind: 'verified', payment: toPayment(row) };
  return {
    kind: 'held',
    others: (others ?? []).map(({ nonce, amountAtomic }) => ({ nonce, amountAtomic: BigInt(amountAtomic) })),
  };
}

const VALUES: ((item: VerifyItem) => unknown)[] = [
  ({ paymentId }) => paymentId,
  ({ leaseToken }) => leaseToken,
  ({ isCovered }) => isCovered,
  ({ payer }) => getAddress(payer),
  () => newId('Customer'),
  ({ funds }) => funds?.balanceAtomic.toString() ?? null,
  ({ funds }) => funds?.since.toISOString() ?? null,
];

/** A separate statement, because a statement sees the data as it was before the statement waited for its locks. */
const LOCK_PAYERS = `
  SELECT pg_advisory_xact_lock($2::int, "payer")::text AS "locked" FROM (
    SELECT DISTINCT hashtext("network" || ' ' || "assetAddress" || ' ' || "payer") AS "payer" FROM "Payment"
    WHERE "id" = ANY($1::text[]) ORDER BY 1
  ) AS payers`;

const SAME_PAYER = 'o."payer" = d."payer" AND o."network" = d."network" AND o."assetAddress" = d."assetAddress"';

const VERIFY = `
  WITH due AS MATERIALIZED (
    SELECT p."id", p."projectId", p."network", p."assetAddress", p."payer", p."nonce", p."amountAtomic", p."verifiedAt",
      p."updatedAt", i."isCovered", i."walletAddress", i."customerId", i."balance", i."since"
    FROM unnest($1::text[], $2::int[], $3::boolean[], $4::text[], $5::text[], $6::numeric[], $7::timestamptz[])
      AS i("id", "leaseToken", "isCovered", "walletAddress", "customerId", "balance", "since")
    JOIN "Payment" p ON p."id" = i."id"
    WHERE p."leaseToken" = i."leaseToken" AND p."status" = 'CLAIMED'
    ORDER BY p."id" FOR NO KEY UPDATE OF p
  ), other AS MATERIALIZED (
    SELECT d."id", o.* FROM due d CROSS JOIN LATERAL (
      SELECT o."nonce", o."amountAtomic", true AS "isRecent" FROM "Payment" o
      WHERE ${SAME_PAYER} AND o."id" <> d."id" AND o."leasedUntil" IS NOT NULL AND o."verifiedAt" IS NOT NULL
      UNION ALL
      SELECT o."nonce", o."amountAtomic", o."updatedAt" >= d."updatedAt" FROM "Payment" o
      WHERE ${SAME_PAYER} AND o."status" = 'SETTLED' AND o."updatedAt" >= least(d."updatedAt", d."since")
      UNION ALL
      SELECT o."nonce", o."amountAtomic", true FROM due o
      WHERE ${SAME_PAYER} AND o."id" < d."id" AND o."verifiedAt" IS NULL
    ) o WHERE NOT d."isCovered"
  ), needed AS MATERIALIZED (
    SELECT "id", sum("amountAtomic") AS "total", bool_or("isRecent") AS "isShared" FROM other GROUP BY "id"
  ), free AS MATERIALIZED (
    SELECT d.* FROM due d LEFT JOIN needed n USING ("id")
    WHERE n."isShared" IS NOT TRUE OR d."amountAtomic" + n."total" <= d."balance"
  ), held AS (
    UPDATE "Payment" p SET "verifiedAt" = clock_timestamp(), ${touched('p')}
    FROM due d WHERE p."id" = d."id" AND NOT EXISTS (SELECT FROM free f WHERE f."id" = d."id")
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
  SELECT d."id" AS "dueId", m.*, (
    SELECT json_agg(json_build_object('nonce', o."nonce", 'amountAtomic', o."amountAtomic"::text))
    FROM other o WHERE o."id" = d."id" AND o."isRecent"
  ) AS "others"
  FROM due d LEFT JOIN moved m ON m."id" = d."id"`;
