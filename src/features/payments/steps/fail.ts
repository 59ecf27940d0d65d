import { asReference } from '../../../database/reference.ts';
import { preparedStatement } from '../../../database/statement.ts';
import type { BatchStep } from '../../../database/write-batcher.ts';
import type { Payment, PaymentStage, PaymentStatus } from '../../../generated/prisma/client.ts';
import type { EventCause, EventService } from '../../events/service.ts';
import type { PaymentIdentity } from '../lease.ts';
import { paymentPayload } from '../payload.ts';
import { uncounted } from './count.ts';
import { dayOf, enterDays } from './days.ts';
import type { FanOut } from './fan-out.ts';
import { openBooks } from './open-books.ts';
import { columns, FINAL, type PaymentRow, toPayment, touched } from './rows.ts';

export type FailItem = PaymentIdentity & {
  /** Null if the chain has shown the outcome. In that case, no lease is needed. */
  leaseToken: number | null;
  /** The statuses that the payment may have before it fails. */
  from: readonly PaymentStatus[];
  stage: PaymentStage;
  reason: string;
  message: string;
  upstream: { statusCode: number; durationMs: number } | undefined;
  /** The time on the books' clock, or null for the database's. */
  now: Date | null;
  traceContext: string | null;
};

/**
 * → FAILED: nothing was charged. Deletes the unpaid responses, removes the payments from their buyers' counts, adds them
 * to the totals for their days, and records their events. Failures at VERIFY stay out of the books: anyone can cause them, so they don't indicate a
 * problem with the seller's service. Returns undefined for payments whose status or lease doesn't allow this.
 *
 * The day is the one of the payment's `updatedAt`, like its hour in `RevenueHour`. If the clock were read again, that
 * could already be the next day.
 */
export function createFailStep(events: EventService, fanOut: FanOut): BatchStep<FailItem, Payment | undefined> {
  return {
    weightOf: fanOut.weightOf,
    accountOf: fanOut.accountOf,
    keyOf: ({ paymentId }) => paymentId,
    async run(batch, items) {
      const projectIds = items.map(({ projectId }) => projectId);
      const values = columns(items, VALUES);
      const [books, rows, destinations] = await Promise.all([
        openBooks(batch, projectIds),
        batch.query<PaymentRow>(FAIL(...values)),
        events.destinationsOf(batch, projectIds, ['payment.failed']),
      ]);
      fanOut.learn(books, destinations);
      const failed = new Map(rows.map((row) => [row.id, toPayment(row)]));
      events.recordAll(batch, causesOf(items, failed), destinations);
      return items.map(({ paymentId }) => failed.get(paymentId));
    },
  };
}

function causesOf(items: readonly FailItem[], failed: ReadonlyMap<string, Payment>): EventCause[] {
  return items.flatMap(({ paymentId, traceContext }) => {
    const payment = failed.get(paymentId);
    if (!payment || payment.failureStage === 'VERIFY') return [];
    const event = { projectId: payment.projectId, type: 'payment.failed', data: failurePayload(payment) } as const;
    return [{ event, traceContext }];
  });
}

function failurePayload(payment: Payment) {
  const { failureStage, failureReason, failureMessage, transactionHash, upstreamStatusCode } = payment;
  return {
    ...paymentPayload(payment),
    stage: failureStage!.toLowerCase() as 'verify' | 'upstream' | 'settle',
    reason: failureReason ?? '',
    message: failureMessage ?? '',
    ...(failureStage === 'UPSTREAM' && upstreamStatusCode !== null && { upstreamStatusCode }),
    transactionHash,
  };
}

const VALUES = [
  ({ paymentId }) => paymentId,
  ({ leaseToken }) => leaseToken,
  ({ from }) => from.join(' '),
  ({ stage }) => stage,
  ({ reason }) => foreignText(reason, 100),
  ({ message }) => foreignText(message, 1000),
  ({ upstream }) => upstream?.statusCode ?? null,
  ({ upstream }) => (upstream ? Math.round(upstream.durationMs) : null),
  ({ now }) => now?.toISOString() ?? null,
] as const satisfies readonly ((item: FailItem) => unknown)[];

/** Makes text from third parties, such as a facilitator, safe to store. */
export function foreignText(text: string, maxLength: number): string {
  return text.replaceAll('\0', '').slice(0, maxLength).toWellFormed();
}

const FAIL = preparedStatement(
  'payment-fail',
  `
  WITH due AS MATERIALIZED (
    SELECT i.*
    FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::int[], $9::timestamptz[])
      AS i("id", "leaseToken", "from", "stage", "reason", "message", "statusCode", "durationMs", "now")
    JOIN "Payment" p ON p."id" = i."id"
    WHERE p."status"::text = ANY(string_to_array(i."from", ' '))
      AND (i."leaseToken" IS NULL OR p."leaseToken" = i."leaseToken")
    ORDER BY p."id" FOR NO KEY UPDATE OF p
  ), moved AS (
    UPDATE "Payment" p SET "status" = 'FAILED', "failureStage" = d."stage"::"PaymentStage",
      "failureReason" = d."reason", "failureMessage" = d."message", ${FINAL},
      "verifiedAt" = CASE WHEN d."stage" = 'VERIFY' THEN NULL ELSE p."verifiedAt" END,
      "upstreamStatusCode" = coalesce(d."statusCode", p."upstreamStatusCode"),
      "upstreamDurationMs" = coalesce(d."durationMs", p."upstreamDurationMs"), ${touched('p')}
    FROM due d WHERE p."id" = d."id"
    RETURNING p.*
  ), unpaid AS (
    DELETE FROM "PaymentAnswer" WHERE "paymentId" = ANY(ARRAY(SELECT ${asReference('"id"')} FROM moved))
  ), entry AS (
    SELECT m."projectId", ${dayOf('coalesce(d."now", m."updatedAt")')} AS "day", m."endpointId", 0 AS "totalAtomic",
      0 AS "paymentCount", count(*)::int AS "failedCount"
    FROM moved m JOIN due d USING ("id") WHERE m."failureStage" <> 'VERIFY' GROUP BY 1, 2, 3
  ), ${uncounted('moved')}, ${enterDays('entry')}
  SELECT * FROM moved`,
);
