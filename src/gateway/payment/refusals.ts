import { AppError } from '../../errors.ts';
import type { NoCallReason } from '../../features/payments/paid-calls.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { refusal } from '../upstream/gateway-response.ts';
import { paymentResponseHeaders } from './payment-response.ts';

export const BOTH_FAILED =
  'You were charged, and the API failed twice. Contact the seller with your payment ID, which is in `Tollgate-Payment-Id`.';

const STREAMED =
  'This payment was already used: its response was streamed, and streamed responses aren’t stored. Sign a new payment to send the request again.';

const REPLACED =
  'You were charged, but another endpoint, which costs more, has this path now. Contact the seller with your payment ID, which is in `Tollgate-Payment-Id`.';

const GONE_DETAILS = { served: STREAMED, failed: BOTH_FAILED, replaced: REPLACED };

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

/**
 * Says that a settled payment can't be used for another call to the upstream.
 *
 * @param reason `replaced`: a more expensive endpoint has the path now.
 */
export function noCallRefusal(payment: Payment, transactionHash: string, reason: NoCallReason | 'replaced'): AppError {
  if (reason === 'calling') return inProgressRefusal(payment);
  const receipt = paymentResponseHeaders(payment, { success: true, transactionHash });
  return refusal('PAYMENT_RESPONSE_GONE', receipt, { detail: GONE_DETAILS[reason] });
}

/** Says that the response memory is full. */
export function busyRefusal(headers: Record<string, string>): AppError {
  return refusal('UNAVAILABLE', headers, { retryAfterSeconds: 1 });
}

/** Says that no payments are taken, because this is a copy, and the original may still be taking them. */
export function onHoldRefusal(): AppError {
  return new AppError('UNAVAILABLE', {
    detail:
      'The gateway isn’t taking payments at the moment. This request wasn’t charged. Don’t sign another payment: retry the same request with the same payment later.',
    retryAfterSeconds: 60,
  });
}

/** Says that the project's networks are no longer served, so its endpoints stay closed until its owner chooses others. */
export function unpayableRefusal(): AppError {
  return new AppError('UNAVAILABLE', {
    detail: 'This API accepts payments only on networks that are no longer available.',
    retryAfterSeconds: 300,
  });
}

/** Says that the API is closed, but not that the operator has blocked the seller's account. */
export function blockedRefusal(): AppError {
  return new AppError('UNAVAILABLE', {
    detail: 'This API is not available at the moment. Nothing was charged.',
    retryAfterSeconds: 300,
  });
}
