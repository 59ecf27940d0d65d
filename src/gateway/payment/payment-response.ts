import { findNetwork } from '../chain/networks.ts';
import { encodeHeader } from './payment-required.ts';

/** A payment's outcome, as sent to the client in a header. */
export type PaymentResult =
  | { success: true; transactionHash: string }
  | { success: false; reason: string; transactionHash?: string | undefined };

/** `network`: the CAIP-2 ID. */
type ShownPayment = { x402Version: number; network: string; payer?: string | undefined };
type IdentifiedPayment = ShownPayment & { id: string; payer: string };

const HEADER_NAMES = { 2: 'payment-response', 1: 'x-payment-response' } as const;

/** `PAYMENT-RESPONSE` (x402 version 2) or `X-PAYMENT-RESPONSE` (version 1), and our ID for the payment. */
export function paymentResponseHeaders(payment: IdentifiedPayment, result: PaymentResult): Record<string, string> {
  return { ...responseHeader(payment, result), 'tollgate-payment-id': payment.id };
}

/** `PAYMENT-RESPONSE` or `X-PAYMENT-RESPONSE` for a payment that was refused before it was recorded, so it has no ID. */
export function refusedPaymentHeader(payment: ShownPayment, reason: string): Record<string, string> {
  return responseHeader(payment, { success: false, reason });
}

function responseHeader(payment: ShownPayment, result: PaymentResult): Record<string, string> {
  const version = payment.x402Version === 1 ? 1 : 2;
  const value = {
    success: result.success,
    transaction: result.transactionHash ?? '',
    network: (version === 1 && findNetwork(payment.network)?.v1Name) || payment.network,
    ...(payment.payer !== undefined && { payer: payment.payer }),
    ...(!result.success && { errorReason: result.reason }),
  };
  return { [HEADER_NAMES[version]]: encodeHeader(value) };
}

/** The same headers for a payment that failed. */
export function paymentFailureHeaders(payment: IdentifiedPayment, reason: string): Record<string, string> {
  return paymentResponseHeaders(payment, { success: false, reason });
}
