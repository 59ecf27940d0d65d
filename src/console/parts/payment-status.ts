import type { PaymentStatus } from '../../generated/console/payments.ts';

/** Every state of a payment, in the order of its life, with the colour that it is shown in. */
export const PAYMENT_STATUS_COLORS: Readonly<Record<PaymentStatus, string>> = {
  CLAIMED: 'gray',
  VERIFIED: 'blue',
  SERVED: 'blue',
  SETTLING: 'indigo',
  SETTLED: 'teal',
  FAILED: 'red',
  UNKNOWN: 'orange',
};
