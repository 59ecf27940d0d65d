import type { PaymentStatus } from '../../generated/console/payments.ts';

/** Every payment status, in the order a payment goes through them, with its color. */
export const PAYMENT_STATUS_COLORS: Readonly<Record<PaymentStatus, string>> = {
  CLAIMED: 'gray',
  VERIFIED: 'blue',
  SERVED: 'blue',
  SETTLING: 'indigo',
  SETTLED: 'teal',
  FAILED: 'red',
  UNKNOWN: 'orange',
};
