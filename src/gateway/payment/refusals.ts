import type { AppError } from '../../errors.ts';
import type { NoCallReason } from '../../features/payments/paid-calls.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { refusal } from '../upstream/gateway-response.ts';
import { paymentResponseHeaders } from './payment-response.ts';

export const BOTH_FAILED =
  'You were charged, and the API failed twice. Contact the seller with your payment ID, which is in `Tollgate-Payment-Id`.';

const STREAMED =
  'This payment was already used: its response was streamed, and streamed responses aren’t stored. Sign a new payment to send the request again.';

/** Says that the settlement's outcome is unknown. This is never a 402, because clients would pay again. */
export function unresolvedRefusal(payment: Payment, transactionHash?: string): AppError {
  const headers = paymentResponseHeaders(payment, {
    success: false,
    reason: 'settlement_pending',
    transactionHash,
  });
  return refusal('PAYMENT_UNRESOLVED', headers, { retryAfterSeconds: 5 });
}

/** Says that a request with the same payment is still running. */
export function inProgressRefusal({ id }: Payment): AppError {
  return refusal('PAYMENT_IN_PROGRESS', { 'tollgate-payment-id': id }, { retryAfterSeconds: 1 });
}

/** Says that a settled payment can't be used for another call to the upstream. */
export function noCallRefusal(payment: Payment, transactionHash: string, reason: NoCallReason): AppError {
  if (reason === 'calling') return inProgressRefusal(payment);
  const receipt = paymentResponseHeaders(payment, { success: true, transactionHash });
  return refusal('PAYMENT_ANSWER_GONE', receipt, { detail: reason === 'served' ? STREAMED : BOTH_FAILED });
}

/** Says that the response memory is full. */
export function busyRefusal(headers: Record<string, string>): AppError {
  return refusal('UNAVAILABLE', headers, { retryAfterSeconds: 1 });
}
