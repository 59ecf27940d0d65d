import type { Transaction } from '../../database/client.ts';
import type { Payment, PaymentStage, PaymentStatus } from '../../generated/prisma/client.ts';

/** What proves that a process carries a payment: every claim of it counts the token up. */
export type PaymentLease = { paymentId: string; leaseToken: number };

/** The chain has told what became of a payment, whoever carries it. */
export type Reconciled = { paymentId: string; reconciled: true };

/** Another process carries the payment now, or it is final: this one must leave it alone. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  constructor(paymentId: string) {
    super(`The payment ${paymentId} is no longer this process's to carry.`);
  }
}

/** The payment is no longer there: its project was deleted. */
export class PaymentGone extends LeaseLost {}

type Reader = Pick<Transaction, 'payment'>;

/** The payment when this very step was taken before by the same claim. @throws LeaseLost, PaymentGone otherwise */
export async function alreadyAt(
  db: Reader,
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

/** The same for a settlement: whoever booked this transaction, it is the one fact. */
export async function alreadySettled(
  db: Reader,
  by: PaymentLease | Reconciled,
  transactionHash: string,
): Promise<Payment> {
  const payment = await db.payment.findUnique({ where: { id: by.paymentId } });
  if (!payment) throw new PaymentGone(by.paymentId);
  if (payment.status === 'SETTLED' && payment.transactionHash === transactionHash) return payment;
  throw new LeaseLost(by.paymentId);
}
