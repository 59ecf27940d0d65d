import type { Payment } from '../../../packages/sdk/src/index.ts';

/** What each status means. docs/payments.md has the details. */
const STATUSES: Readonly<Record<Payment['status'], string>> = {
  CLAIMED: 'The payment has arrived and is being verified. The buyer has not been charged yet.',
  VERIFIED: 'The signature is valid, and the API behind the endpoint is being called.',
  SERVED: 'The API has responded. The payment will be settled next.',
  SETTLING: 'The settlement is being sent.',
  UNKNOWN: 'The settlement was sent, but its outcome is not known yet.',
  SETTLED: 'The payment was settled on-chain, so the buyer was charged.',
  FAILED: 'The payment failed. The buyer was not charged.',
};

const STAGES: Readonly<Record<NonNullable<Payment['failureStage']>, { summary: string; advice: string }>> = {
  VERIFY: {
    summary: 'The payment failed verification, before the API was called.',
    advice:
      "The buyer must fix the payment. Anyone can send an invalid payment, so this doesn't indicate a problem with your service.",
  },
  UPSTREAM: {
    summary:
      'The payment failed because the API behind the endpoint returned no usable response, or the buyer disconnected.',
    advice: 'Check the API behind the endpoint: its status code, its response time, and its log at that time.',
  },
  SETTLE: {
    summary:
      'The API responded, but the settlement was rejected or the authorization expired. The response was discarded.',
    advice: 'The buyer must sign a new authorization. If this happens often, check the facilitator and the network.',
  },
};

const UNKNOWN_ADVICE =
  'Tollgate keeps checking the chain until the authorization expires. You do not need to do anything.';
const UNSERVED_ADVICE =
  'The buyer was charged before the API was called, and did not get a complete response. The buyer may be able to retry once for free. Tollgate does not refund payments.';

/** Why a payment has its status, and what to do. */
export function explainPayment(payment: Payment): { summary: string; advice: string | null } {
  const { status, failureStage, unservedReason } = payment;
  const stage = failureStage === null ? undefined : STAGES[failureStage];
  const summary = [STATUSES[status], stage?.summary].filter(Boolean).join(' ');
  if (unservedReason !== null) return { summary, advice: UNSERVED_ADVICE };
  if (status === 'UNKNOWN') return { summary, advice: UNKNOWN_ADVICE };
  return { summary, advice: stage?.advice ?? null };
}
