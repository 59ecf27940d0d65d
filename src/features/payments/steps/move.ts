import type { Queryable } from '../../../database/client.ts';
import { preparedStatement, runStatement } from '../../../database/statement.ts';
import type { Payment, PaymentStage, PaymentStatus } from '../../../generated/prisma/client.ts';
import { LeaseLost, PaymentGone, type PaymentLease, type Reconciled } from '../lease.ts';
import type { AuthorizationKey, IdentifierKey } from '../payment-record.ts';
import { keyOf } from './claim.ts';
import { type PaymentRow, toPayment, touched } from './rows.ts';

/**
 * The payment that holds an authorization's nonce. Payments that failed at VERIFY have released theirs. Uses the index
 * `Payment_authorization`.
 */
export function findHolder(pool: Queryable, input: AuthorizationKey): Promise<Payment | undefined> {
  const { network, assetAddress, payer, nonce } = keyOf(input);
  return findOne(pool, FIND_HOLDER(network, assetAddress, payer, nonce));
}

/** The payment that holds an identifier: failed payments have released theirs. Uses the index `Payment_identifier`. */
export function findIdentified(pool: Queryable, key: IdentifierKey): Promise<Payment | undefined> {
  return findOne(pool, FIND_IDENTIFIED(key.projectId, key.payer.toLowerCase(), key.paymentIdentifier ?? null));
}

/** VERIFIED or SERVED → SETTLING, without a response. Undefined if the status or the lease doesn't allow this. */
export function moveToSettling(
  pool: Queryable,
  { paymentId, leaseToken }: PaymentLease,
  from: 'VERIFIED' | 'SERVED',
): Promise<Payment | undefined> {
  return findOne(pool, MOVE_TO_SETTLING(paymentId, leaseToken, from));
}

/** SETTLING or UNKNOWN → UNKNOWN. Undefined if the status or the lease doesn't allow this. */
export function moveToUnknown(
  pool: Queryable,
  { paymentId, leaseToken }: PaymentLease,
  why: { reason: string; transactionHash: string | null; nextCheckSeconds: number },
): Promise<Payment | undefined> {
  return findOne(pool, MOVE_TO_UNKNOWN(paymentId, leaseToken, why.reason, why.transactionHash, why.nextCheckSeconds));
}

/**
 * Returns the payment if this step was already taken with the same lease.
 *
 * @throws LeaseLost or PaymentGone otherwise.
 */
export async function alreadyAt(
  pool: Queryable,
  by: PaymentLease | Reconciled,
  status: PaymentStatus,
  stage?: PaymentStage,
): Promise<Payment> {
  const payment = await requirePayment(pool, by.paymentId);
  const isOurs = 'reconciled' in by || payment.leaseToken === by.leaseToken;
  if (payment.status === status && isOurs && (!stage || payment.failureStage === stage)) return payment;
  throw new LeaseLost(by.paymentId);
}

/**
 * Returns the payment if it was already settled by this transaction, no matter which process recorded the settlement.
 */
export async function alreadySettled(
  pool: Queryable,
  by: PaymentLease | Reconciled,
  transactionHash: string,
): Promise<Payment> {
  const payment = await requirePayment(pool, by.paymentId);
  if (payment.status === 'SETTLED' && payment.transactionHash === transactionHash) return payment;
  throw new LeaseLost(by.paymentId);
}

async function requirePayment(pool: Queryable, id: string): Promise<Payment> {
  const payment = await findOne(pool, FIND(id));
  if (!payment) throw new PaymentGone(id);
  return payment;
}

async function findOne(pool: Queryable, statement: PaymentStatement): Promise<Payment | undefined> {
  const { rows } = await runStatement<PaymentRow>(pool, statement);
  return rows[0] && toPayment(rows[0]);
}

const FIND_HOLDER = preparedStatement(
  'payment-holder',
  `SELECT * FROM "Payment" WHERE "network" = $1 AND "assetAddress" = $2 AND "payer" = $3 AND "nonce" = $4
   AND "failureStage" IS DISTINCT FROM 'VERIFY'`,
);

const FIND_IDENTIFIED = preparedStatement(
  'payment-identified',
  `SELECT * FROM "Payment" WHERE "projectId" = $1 AND "payer" = $2 AND "paymentIdentifier" = $3
   AND "failureStage" IS NULL`,
);

const MOVE_TO_SETTLING = preparedStatement(
  'payment-settling',
  `UPDATE "Payment" SET "status" = 'SETTLING', "failureReason" = NULL, ${touched('"Payment"')}
   WHERE "id" = $1 AND "leaseToken" = $2 AND "status" = $3::"PaymentStatus" RETURNING *`,
);

const MOVE_TO_UNKNOWN = preparedStatement(
  'payment-unknown',
  `UPDATE "Payment" SET "status" = 'UNKNOWN', "failureReason" = $3,
   "transactionHash" = coalesce($4, "transactionHash"), "leasedUntil" = now() + make_interval(secs => $5),
   ${touched('"Payment"')}
   WHERE "id" = $1 AND "leaseToken" = $2 AND "status" IN ('SETTLING', 'UNKNOWN') RETURNING *`,
);

const FIND = preparedStatement('payment-by-id', 'SELECT * FROM "Payment" WHERE "id" = $1');

/** A statement that returns payments. */
type PaymentStatement = ReturnType<typeof FIND>;
