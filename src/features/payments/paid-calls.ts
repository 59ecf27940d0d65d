import { sharedNow } from '../../clock.ts';
import type { Database } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { notFound } from '../../errors.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { foreignText } from './steps/fail.ts';
import { touched } from './steps/rows.ts';

/** A call to the upstream for a payment that is already settled. Its number is the token of its lease. */
export type PaidCall = { paymentId: string; number: number };

/** `served`: the buyer has received a response. `failed`: all calls have failed. */
export type NoCallReason = 'calling' | 'served' | 'failed';

/** `unsettled`: the settlement isn't recorded yet. */
export type CallStart = { kind: 'begun'; call: PaidCall } | { kind: 'unsettled' | NoCallReason };

export type CallEnd = {
  /** Why the buyer doesn't have a complete response, as a stable code, or null if the response was served. */
  unservedReason: string | null;
  /** The reason as a sentence for the seller. */
  message?: string | undefined;
  /** Set if the upstream sent response headers. */
  statusCode?: number;
  durationMs: number;
  /** Replaces the claim's fingerprint, now that the streamed body's digest is known. */
  requestFingerprint?: string;
};

type BeginRow = { projectId: string; isCharged: boolean; isServed: boolean; isCalling: boolean; number: number | null };

/** The call that was paid for, and one free retry if it fails. */
export const MAX_CALLS = 2;

type CallState = Pick<
  Payment,
  'status' | 'settlement' | 'servedAt' | 'unservedReason' | 'callLeasedUntil' | 'upstreamCallCount' | 'updatedAt'
>;

/** How soon after the settlement the call starts, unless the process dies. */
const START_MILLISECONDS = 5_000;

/**
 * Why the buyer of a settled payment hasn't been served, as a stable code. Null if the buyer has been served,
 * or if a call is running or about to start.
 *
 * @param now the time, which may be off by less than a call's lease
 */
export function unservedReasonOf(payment: CallState, now: Date = new Date(sharedNow())): string | null {
  const { status, settlement, servedAt, unservedReason, callLeasedUntil, upstreamCallCount, updatedAt } = payment;
  if (status !== 'SETTLED' || settlement === 'AFTER_RESPONSE' || servedAt !== null) return null;
  if (callLeasedUntil !== null && callLeasedUntil > now) return null;
  const isStarting = upstreamCallCount === 0 && now.getTime() - updatedAt.getTime() < START_MILLISECONDS;
  if (isStarting) return null;
  return unservedReason ?? 'interrupted';
}

/**
 * Why no call can start for a settled payment, or undefined if one might. It can be outdated: `beginCall` decides.
 *
 * @param now the time, which may be off by less than a call's lease
 */
export function noCallReasonOf(
  { servedAt, callLeasedUntil, upstreamCallCount }: CallState,
  now: Date = new Date(sharedNow()),
): NoCallReason | undefined {
  if (servedAt !== null) return 'served';
  if (callLeasedUntil !== null && callLeasedUntil > now) return 'calling';
  return upstreamCallCount >= MAX_CALLS ? 'failed' : undefined;
}

const EXTEND = preparedStatement(
  'payment-call-extend',
  `UPDATE "Payment" SET "callLeasedUntil" = now() + make_interval(secs => $3)
   WHERE "id" = $1 AND "upstreamCallCount" = $2 AND "callLeasedUntil" IS NOT NULL`,
);

/**
 * Calls to the upstream after the settlement (`BEFORE_REQUEST`). The payment is final by then, so these calls have
 * their own lease. Each step is a compare-and-set, so at most one call runs at a time, across all processes.
 */
export function createPaidCalls(options: {
  db: Pick<Database, 'pool'>;
  /** Notifies live subscribers. */
  announce(projectId: string): void;
}) {
  const { pool } = options.db;

  return {
    /**
     * Starts the next call of a SETTLED payment, unless a call is running, a call was served, or no calls are left.
     *
     * @throws AppError `NOT_FOUND` if the payment no longer exists, because its project was deleted.
     */
    async beginCall(paymentId: string, leaseSeconds: number): Promise<CallStart> {
      const { rows } = await runStatement<BeginRow>(pool, BEGIN(paymentId, MAX_CALLS, leaseSeconds));
      const [row] = rows;
      if (!row) throw notFound();
      const { projectId, isCharged, isServed, isCalling, number } = row;
      if (number !== null) {
        options.announce(projectId);
        return { kind: 'begun', call: { paymentId, number } };
      }
      if (!isCharged) return { kind: 'unsettled' };
      return { kind: isServed ? 'served' : isCalling ? 'calling' : 'failed' };
    },

    /** Extends a call's lease. Returns false if the call no longer holds it. */
    async extendCall({ paymentId, number }: PaidCall, leaseSeconds: number): Promise<boolean> {
      const { rowCount } = await runStatement(pool, EXTEND(paymentId, number, leaseSeconds));
      return rowCount === 1;
    },

    /** Records how a call ended, unless another call has started since. */
    async endCall({ paymentId, number }: PaidCall, end: CallEnd): Promise<void> {
      const { unservedReason, message, statusCode, durationMs, requestFingerprint } = end;
      const { rows } = await runStatement<{ projectId: string }>(
        pool,
        END(
          paymentId,
          number,
          unservedReason,
          statusCode ?? null,
          Math.round(durationMs),
          requestFingerprint ?? null,
          message === undefined ? null : foreignText(message, 1000),
        ),
      );
      if (rows[0]) options.announce(rows[0].projectId);
    },
  };
}

const BEGIN = preparedStatement(
  'payment-call-begin',
  `
  WITH held AS MATERIALIZED (
    SELECT "id", "projectId", "upstreamCallCount" AS "count",
      "status" = 'SETTLED' AND "settlement" = 'BEFORE_REQUEST' AS "isCharged", "servedAt" IS NOT NULL AS "isServed",
      coalesce("callLeasedUntil" > now(), false) AS "isCalling"
    FROM "Payment" WHERE "id" = $1 FOR NO KEY UPDATE
  ), begun AS (
    UPDATE "Payment" p SET "upstreamCallCount" = h."count" + 1, "unservedReason" = NULL, "failureMessage" = NULL,
      "callLeasedUntil" = now() + make_interval(secs => $3::float8), ${touched('p')}
    FROM held h WHERE p."id" = h."id" AND h."isCharged" AND NOT h."isServed" AND NOT h."isCalling" AND h."count" < $2::int
    RETURNING p."id", p."upstreamCallCount" AS "number"
  )
  SELECT h."isCharged", h."isServed", h."isCalling", "projectId", b."number" FROM held h LEFT JOIN begun b USING ("id")`,
);

const END = preparedStatement(
  'payment-call-end',
  `
  UPDATE "Payment" p SET "callLeasedUntil" = NULL, "unservedReason" = $3::text,
    "servedAt" = CASE WHEN $3::text IS NULL THEN clock_timestamp() END, "upstreamStatusCode" = $4::int,
    "upstreamDurationMs" = $5::int, "requestFingerprint" = coalesce($6::text, "requestFingerprint"),
    "failureMessage" = $7::text, ${touched('p')}
  WHERE "id" = $1 AND "upstreamCallCount" = $2 AND "callLeasedUntil" IS NOT NULL
  RETURNING "projectId"`,
);
