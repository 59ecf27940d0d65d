import type { AppError } from '../../errors.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Network } from '../chain/networks.ts';
import { refusal } from '../upstream/gateway-response.ts';
import { paymentResponseHeaders } from './payment-response.ts';

/** Says that the settlement's outcome is unknown. This is never a 402, because clients would pay again. */
export function unresolvedRefusal(network: Network, payment: Payment, transactionHash?: string): AppError {
  const headers = paymentResponseHeaders(network, payment, {
    success: false,
    reason: 'settlement_pending',
    transactionHash,
  });
  return refusal('PAYMENT_UNRESOLVED', headers, { retryAfterSeconds: 5 });
}

/** Says that the response memory is full. */
export function busyRefusal(headers: Record<string, string>): AppError {
  return refusal('UNAVAILABLE', headers, { retryAfterSeconds: 1 });
}
