import { preparedStatement } from '../../../database/statement.ts';
import type { BatchStep } from '../../../database/write-batcher.ts';
import type { Payment } from '../../../generated/prisma/client.ts';
import { formatUsd } from '../../../money.ts';
import type { NewEvent } from '../../events/new-event.ts';
import type { EventCause, EventService } from '../../events/service.ts';
import { bookingDate } from '../../projects/summary-period.ts';
import type { PaymentIdentity } from '../lease.ts';
import { atomicOf, paymentPayload } from '../payload.ts';
import { dayOf, enterDays } from './days.ts';
import { createFanOut } from './fan-out.ts';
import { type Books, openBooks } from './open-books.ts';
import { columns, FINAL, type PaymentRow, toPayment, touched } from './rows.ts';

export type SettleItem = PaymentIdentity & {
  /** Null if the chain has shown the outcome. In that case, no lease is needed. */
  leaseToken: number | null;
  transactionHash: string;
  settledAt: Date;
  /** The time on the books' clock, or null for the database's. */
  now: Date | null;
  traceContext: string | null;
};

const EVENT_TYPES = ['payment.settled', 'customer.first_payment', 'customer.milestone'] as const;

/**
 * The payment, its customer's totals before any of the batch's payments, and the project's current day, if its days
 * aren't in UTC.
 */
type Row = PaymentRow & Extra;
type Extra = {
  walletAddress: string | null;
  countBefore: number;
  totalBefore: string;
  timeZone: string;
  day: string | null;
  dayTo: Date | null;
};

/**
 * SETTLING or UNKNOWN → SETTLED. Adds the payments to the totals of their customers and their days, and records their
 * events. Returns undefined for payments whose status or lease doesn't allow this.
 *
 * If a settlement is confirmed on a later day, it is booked on that day, because finished days aren't reopened.
 */
export function createSettleStep(events: EventService): BatchStep<SettleItem, Payment | undefined> {
  const fanOut = createFanOut();
  return {
    weightOf: fanOut.weightOf,
    accountOf: fanOut.accountOf,
    keyOf: ({ paymentId }) => paymentId,
    async run(batch, items) {
      const projectIds = items.map(({ projectId }) => projectId);
      const values = columns(items, VALUES);
      const [books, rows, destinations] = await Promise.all([
        openBooks(batch, projectIds),
        batch.query<Row>(SETTLE(...values)),
        events.destinationsOf(batch, projectIds, EVENT_TYPES),
      ]);
      fanOut.learn(books, destinations);
      events.recordAll(batch, causesOf(items, rows, books), destinations);
      const settled = new Map(
        rows.map(({ walletAddress, countBefore, totalBefore, timeZone, day, dayTo, ...row }) => [
          row.id,
          toPayment(row),
        ]),
      );
      return items.map(({ paymentId }) => settled.get(paymentId));
    },
  };
}

function causesOf(items: readonly SettleItem[], rows: Row[], books: ReadonlyMap<string, Books>): EventCause[] {
  const traces = new Map(items.map(({ paymentId, traceContext }) => [paymentId, traceContext]));
  return inOrder(rows).flatMap(({ row, count, totalAtomic }) =>
    eventsOf(row, count, totalAtomic, books.get(row.projectId)!.milestonesAtomic).map((event) => ({
      event,
      traceContext: traces.get(row.id) ?? null,
    })),
  );
}

/**
 * Adds to each payment the totals that its customer has after it, as if the batch's payments had been settled one after
 * the other.
 */
function inOrder(rows: Row[]): { row: Row; count: number; totalAtomic: bigint }[] {
  const totals = new Map<string, { count: number; totalAtomic: bigint }>();
  return rows
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((row) => {
      const { id, customerId, countBefore, totalBefore, amountAtomic } = row;
      if (customerId === null || row.walletAddress === null) throw new Error(`Settled payment ${id} has no customer`);
      const before = totals.get(customerId) ?? { count: countBefore, totalAtomic: BigInt(totalBefore) };
      const after = { count: before.count + 1, totalAtomic: before.totalAtomic + BigInt(amountAtomic) };
      totals.set(customerId, after);
      return { row, ...after };
    });
}

function eventsOf(row: Row, count: number, totalAtomic: bigint, milestonesAtomic: readonly bigint[]): NewEvent[] {
  const payment = toPayment(row);
  const { projectId } = payment;
  const transactionHash = payment.transactionHash!;
  const payload = paymentPayload(payment);
  const { paymentId, endpointId, endpointPath, amountUsd, amountAtomic, asset, network } = payload;
  const who = { customerId: payment.customerId!, payer: row.walletAddress!, paymentId };
  const what = { endpointId, endpointPath, amountUsd, amountAtomic, asset, network, transactionHash };
  const first: NewEvent[] =
    count === 1 ? [{ projectId, type: 'customer.first_payment', data: { ...who, ...what } }] : [];
  const milestones = milestonesPassed(milestonesAtomic, totalAtomic - atomicOf(payment.amountAtomic), totalAtomic);
  return [
    { projectId, type: 'payment.settled', data: { ...payload, transactionHash, ...bookingDateOf(row) } },
    ...first,
    ...milestones.map((milestone): NewEvent => {
      const reached = { milestoneUsd: formatUsd(milestone), totalUsd: formatUsd(totalAtomic), paymentCount: count };
      return { projectId, type: 'customer.milestone', data: { ...who, ...reached } };
    }),
  ];
}

function bookingDateOf({ day, dayTo, settledAt, timeZone }: Row): { bookingDate?: string } {
  if (day === null || dayTo === null) return {};
  return { bookingDate: bookingDate({ day, to: dayTo }, settledAt!, timeZone) };
}

/** The milestones between `before` (exclusive) and `after` (inclusive), in ascending order. */
function milestonesPassed(milestones: readonly bigint[], before: bigint, after: bigint): bigint[] {
  return milestones
    .filter((milestone) => before < milestone && milestone <= after)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

const VALUES = [
  ({ paymentId }) => paymentId,
  ({ leaseToken }) => leaseToken,
  ({ transactionHash }) => transactionHash,
  ({ settledAt }) => settledAt.toISOString(),
  ({ now }) => now?.toISOString() ?? null,
] as const satisfies readonly ((item: SettleItem) => unknown)[];

const NOW = 'coalesce(d."now", clock_timestamp())';

/**
 * Whether a settlement happened today: in the project's current day, or in none that has ended, or in the UTC day if its days
 * are in UTC.
 */
const IS_TODAY = `CASE
  WHEN d."dayFrom" IS NULL THEN ${dayOf('d."happenedAt"')} = ${dayOf(NOW)}
  ELSE d."happenedAt" >= d."dayFrom" AND (d."happenedAt" < d."dayTo") = (${NOW} < d."dayTo")
END`;

const SETTLE = preparedStatement(
  'payment-settle',
  `
  WITH due AS MATERIALIZED (
    SELECT i.*, s."day", s."from" AS "dayFrom", s."to" AS "dayTo"
    FROM unnest($1::text[], $2::int[], $3::text[], $4::timestamptz[], $5::timestamptz[])
      AS i("id", "leaseToken", "transactionHash", "happenedAt", "now")
    JOIN "Payment" p ON p."id" = i."id"
    LEFT JOIN "SummaryPeriod" s ON s."projectId" = p."projectId"
    WHERE p."status" IN ('SETTLING', 'UNKNOWN') AND (i."leaseToken" IS NULL OR p."leaseToken" = i."leaseToken")
    ORDER BY p."id" FOR NO KEY UPDATE OF p
  ), moved AS (
    UPDATE "Payment" p SET "status" = 'SETTLED', "transactionHash" = d."transactionHash",
      "settledAt" = CASE WHEN ${IS_TODAY} THEN d."happenedAt" ELSE ${NOW} END,
      "failureReason" = NULL, ${FINAL}, ${touched('p')}
    FROM due d WHERE p."id" = d."id"
    RETURNING p.*
  ), total AS MATERIALIZED (
    SELECT "customerId", count(*)::int AS "count", sum("amountAtomic") AS "total", min("settledAt") AS "first",
      max("settledAt") AS "last"
    FROM moved GROUP BY "customerId"
  ), customer AS MATERIALIZED (
    SELECT "id" FROM "Customer" WHERE "id" = ANY(ARRAY(SELECT "customerId" FROM total)) ORDER BY "id" FOR NO KEY UPDATE
  ), counted AS (
    UPDATE "Customer" c SET
      "paymentCount" = c."paymentCount" + t."count",
      "totalAtomic" = c."totalAtomic" + t."total",
      "firstPaymentAt" = least(c."firstPaymentAt", t."first"),
      "lastPaymentAt" = greatest(c."lastPaymentAt", t."last")
    FROM total t JOIN customer l ON l."id" = t."customerId" WHERE c."id" = t."customerId"
    RETURNING c."id", c."walletAddress", c."paymentCount" - t."count" AS "countBefore",
      (c."totalAtomic" - t."total")::text AS "totalBefore"
  ), entry AS (
    SELECT "projectId", ${dayOf('"settledAt"')} AS "day", "endpointId", sum("amountAtomic") AS "totalAtomic",
      count(*)::int AS "paymentCount", 0 AS "failedCount"
    FROM moved GROUP BY 1, 2, 3
  ), ${enterDays('entry')}
  SELECT m.*, c."walletAddress", c."countBefore", c."totalBefore", j."timeZone", d."day"::text AS "day", d."dayTo"
  FROM moved m JOIN due d ON d."id" = m."id" JOIN "Project" j ON j."id" = m."projectId"
  LEFT JOIN counted c ON c."id" = m."customerId"`,
);
