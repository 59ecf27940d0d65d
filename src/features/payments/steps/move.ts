import type { Database, Transaction } from '../../../database/client.ts';
import { type Payment, type PaymentStage, type PaymentStatus, Prisma } from '../../../generated/prisma/client.ts';
import { LeaseLost, PaymentGone, type PaymentLease, type Reconciled } from '../lease.ts';
import type { AuthorizationKey } from '../payment-record.ts';
import { keyOf } from './claim.ts';
import { touched } from './rows.ts';

type Writer = Pick<Transaction, '$queryRaw'>;

/** Payments that failed at VERIFY have released their nonce. Matches the index `Payment_authorization`. */
const HOLDS_NONCE = Prisma.raw(`"failureStage" IS DISTINCT FROM 'VERIFY'`);

/** The payment that holds an authorization's nonce. */
export async function findHolder(db: Database, input: AuthorizationKey): Promise<Payment | undefined> {
  const { network, assetAddress, payer, nonce } = keyOf(input);
  const [payment] = await db.prisma.$queryRaw<Payment[]>`
    SELECT * FROM "Payment"
    WHERE "network" = ${network} AND "assetAddress" = ${assetAddress} AND "payer" = ${payer} AND "nonce" = ${nonce}
      AND (${HOLDS_NONCE})`;
  return payment;
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
    UPDATE "Payment" SET ${set}, ${Prisma.raw(touched('"Payment"'))}
    WHERE "id" = ${by.paymentId} AND "status"::text = ANY(${from}) ${isOurs}
    RETURNING *`;
  return payment;
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

/**
 * Returns the payment if it was already settled by this transaction, no matter which process recorded the settlement.
 */
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
