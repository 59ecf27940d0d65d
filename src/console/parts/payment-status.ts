import type { PaymentStatus } from '../../generated/console/payments.ts';

/** Every payment status with its color, in the order that a payment goes through them. */
export const PAYMENT_STATUS_COLORS: Readonly<Record<PaymentStatus, string>> = {
  CLAIMED: 'gray',
  VERIFIED: 'blue',
  SERVED: 'blue',
  SETTLING: 'indigo',
  SETTLED: 'teal',
  FAILED: 'red',
  UNKNOWN: 'orange',
};
