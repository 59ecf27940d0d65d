import type { Database, Transaction } from '../../database/client.ts';
import { type Payment, type PaymentStage, type PaymentStatus, Prisma } from '../../generated/prisma/client.ts';
import { millisecondsOfId, newId } from '../../ids.ts';
import { LeaseLost, PaymentGone, type PaymentLease, type Reconciled } from './lease.ts';
import type { AuthorizationKey, NewPayment, PaymentProgress, ServedResponse } from './payment-record.ts';

type Writer = Pick<Transaction, '$queryRaw'>;

/** Every version of a row gets its own time, which live subscribers use to tell versions apart. */
function touched(row: string): Prisma.Sql {
  return Prisma.raw(`"updatedAt" = greatest(clock_timestamp(), ${row}."updatedAt" + interval '1 millisecond')`);
}

/** Payments that failed at VERIFY have released their nonce. Matches the index `Payment_authorization`. */
const HOLDS_NONCE = Prisma.raw(`"failureStage" IS DISTINCT FROM 'VERIFY'`);

/** Inserts the payment unless its authorization is held. Takes over a claim that was abandoned before verification. */
export async function insertClaim(db: Database, input: NewPayment): Promise<Payment | undefined> {
  const { network, assetAddress, payer, nonce } = keyOf(input);
  const id = newId('Payment');
  const [payment] = await db.prisma.$queryRaw<Payment[]>`
    INSERT INTO "Payment" AS held (
      "id", "projectId", "endpointId", "endpointPath", "method", "x402Version", "network", "asset", "assetAddress",
      "payer", "payTo", "nonce", "amountAtomic", "validAfter", "validBefore", "authorization", "requestFingerprint",
      "leasedUntil", "leaseToken", "createdAt"
    ) VALUES (
      ${id}, ${input.projectId}, ${input.endpointId}, ${input.endpointPath}, ${input.method},
      ${input.x402Version}, ${network}, ${input.asset}, ${assetAddress}, ${payer}, ${input.payTo.toLowerCase()},
      ${nonce}, ${input.amountAtomic.toString()}::numeric, ${input.validAfter.toISOString()}::timestamptz,
      ${input.validBefore.toISOString()}::timestamptz, ${JSON.stringify(input.authorization)}::json,
      ${input.requestFingerprint}, now() + make_interval(secs => ${input.leaseSeconds}::float8), 1,
      ${new Date(millisecondsOfId(id)).toISOString()}::timestamptz
    )
    ON CONFLICT ("network", "assetAddress", "payer", "nonce") WHERE ${HOLDS_NONCE} DO UPDATE SET
      "projectId" = excluded."projectId", "endpointId" = excluded."endpointId",
      "endpointPath" = excluded."endpointPath", "method" = excluded."method", "x402Version" = excluded."x402Version",
      "asset" = excluded."asset", "payTo" = excluded."payTo", "amountAtomic" = excluded."amountAtomic",
      "validAfter" = excluded."validAfter", "validBefore" = excluded."validBefore",
      "authorization" = excluded."authorization", "requestFingerprint" = excluded."requestFingerprint",
      "leasedUntil" = excluded."leasedUntil", "leaseToken" = held."leaseToken" + 1, "verifiedAt" = NULL,
      ${touched('held')}
    WHERE held."status" = 'CLAIMED' AND held."leasedUntil" <= now()
    RETURNING *`;
  return payment;
}

/** The payment that holds an authorization's nonce. */
export async function findHolder(db: Database, input: AuthorizationKey): Promise<Payment | undefined> {
  const { network, assetAddress, payer, nonce } = keyOf(input);
  const [payment] = await db.prisma.$queryRaw<Payment[]>`
    SELECT * FROM "Payment"
    WHERE "network" = ${network} AND "assetAddress" = ${assetAddress} AND "payer" = ${payer} AND "nonce" = ${nonce}
      AND (${HOLDS_NONCE})`;
  return payment;
}

/** Normalizes the key so that each authorization has only one spelling. */
function keyOf({ network, assetAddress, payer, nonce }: AuthorizationKey) {
  return {
    network,
    assetAddress: assetAddress.toLowerCase(),
    payer: payer.toLowerCase(),
    nonce: nonce.toLowerCase(),
  };
}

/**
 * Updates a payment if its status is one of `from` and the lease is still valid. Facts from the chain don't need a
 * lease.
 */
export async function movePayment(
  db: Writer,
  by: PaymentLease | Reconciled,
  from: readonly PaymentStatus[],
  set: Prisma.Sql,
): Promise<Payment | undefined> {
  const isOurs = 'reconciled' in by ? Prisma.empty : Prisma.sql`AND "leaseToken" = ${by.leaseToken}`;
  const [payment] = await db.$queryRaw<Payment[]>`
    UPDATE "Payment" SET ${set}, ${touched('"Payment"')}
    WHERE "id" = ${by.paymentId} AND "status"::text = ANY(${from}) ${isOurs}
    RETURNING *`;
  return payment;
}

/** VERIFIED → SERVED. The same statement stores the response, because bodies are large. */
export async function moveToServed(
  db: Database,
  { paymentId, leaseToken }: PaymentLease,
  response: ServedResponse,
): Promise<PaymentProgress | undefined> {
  const { statusCode, headers, body, durationMs, keepUntil, requestFingerprint = null } = response;
  const { rows } = await db.pool.query<PaymentProgress>({
    name: 'payment-served',
    text: `
      WITH moved AS (
        UPDATE "Payment" SET "status" = 'SERVED', "servedAt" = clock_timestamp(), "upstreamStatusCode" = $3,
          "upstreamDurationMs" = $4, "requestFingerprint" = coalesce($8, "requestFingerprint"),
          ${touched('"Payment"').sql}
        WHERE "id" = $1 AND "leaseToken" = $2 AND "status" = 'VERIFIED'
        RETURNING "id", "projectId", "status", "failureStage", "createdAt"
      ), kept AS (
        INSERT INTO "PaymentAnswer" ("paymentId", "statusCode", "headers", "body", "expiresAt")
        SELECT "id", $3, $5::json, $6, $7 FROM moved
      )
      SELECT "projectId", "status", "failureStage", "createdAt" FROM moved`,
    values: [
      paymentId,
      leaseToken,
      statusCode,
      Math.round(durationMs),
      JSON.stringify(headers),
      body,
      keepUntil,
      requestFingerprint,
    ],
  });
  return rows[0];
}

/**
 * Returns the payment if this step was already taken with the same lease.
 *
 * @throws LeaseLost or PaymentGone otherwise.
 */
export async function alreadyAt(
  db: Pick<Transaction, 'payment'>,
  by: PaymentLease | Reconciled,
  status: PaymentStatus,
  stage?: PaymentStage,
): Promise<Payment> {
  const payment = await db.payment.findUnique({ where: { id: by.paymentId } });
  if (!payment) throw new PaymentGone(by.paymentId);
  const isOurs = 'reconciled' in by || payment.leaseToken === by.leaseToken;
  if (payment.status === status && isOurs && (!stage || payment.failureStage === stage)) return payment;
  throw new LeaseLost(by.paymentId);
}

/** Returns the payment if it was already settled by this transaction, no matter which process recorded that. */
export async function alreadySettled(
  db: Pick<Transaction, 'payment'>,
  by: PaymentLease | Reconciled,
  transactionHash: string,
): Promise<Payment> {
  const payment = await db.payment.findUnique({ where: { id: by.paymentId } });
  if (!payment) throw new PaymentGone(by.paymentId);
  if (payment.status === 'SETTLED' && payment.transactionHash === transactionHash) return payment;
  throw new LeaseLost(by.paymentId);
}
