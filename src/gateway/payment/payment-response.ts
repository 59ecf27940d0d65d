import type { Network } from '../chain/networks.ts';
import { encodeHeader } from './payment-required.ts';

/** What became of a payment, as its client is told in a header. */
export type PaymentResult =
  | { success: true; transactionHash: string }
  | { success: false; reason: string; transactionHash?: string | undefined };

const HEADER_NAMES = { 2: 'payment-response', 1: 'x-payment-response' } as const;

/** `PAYMENT-RESPONSE` of x402 version 2, or `X-PAYMENT-RESPONSE` of version 1, and the payment's id here. */
export function paymentResponseHeaders(
  network: Network,
  payment: { id: string; x402Version: number; payer: string },
  result: PaymentResult,
): Record<string, string> {
  const version = payment.x402Version === 1 ? 1 : 2;
  const value = {
    success: result.success,
    transaction: result.transactionHash ?? '',
    network: version === 1 ? network.v1Name : network.id,
    payer: payment.payer,
    ...(!result.success && { errorReason: result.reason }),
  };
  return { [HEADER_NAMES[version]]: encodeHeader(value), 'tollgate-payment-id': payment.id };
}
