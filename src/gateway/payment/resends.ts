import { createLru } from '../../lru.ts';

/** How many settlements of a payment are sent without a pause. */
const SENT_AT_ONCE = 3;
const FIRST_PAUSE_MILLISECONDS = 5_000;
/** Above this number, the payments that were used least recently are forgotten. */
const MAX_PAYMENTS = 10_000;

/**
 * Slows down settlements that are sent again, because each may be a reverted transaction that the facilitator pays for.
 * Each process counts for itself.
 */
export function createResends({ now }: { now: () => Date }) {
  const sent = createLru<{ count: number; nextAt: number }>(MAX_PAYMENTS);

  return {
    /** Whether enough time has passed since the last settlement that didn't succeed. */
    mayResend: (paymentId: string): boolean => now().getTime() >= (sent.get(paymentId)?.nextAt ?? 0),

    /** Counts a settlement that didn't succeed. After the first few, each pause is twice as long as the last. */
    count(paymentId: string): void {
      const count = (sent.get(paymentId)?.count ?? 0) + 1;
      const pause = count < SENT_AT_ONCE ? 0 : FIRST_PAUSE_MILLISECONDS * 2 ** (count - SENT_AT_ONCE);
      sent.set(paymentId, { count, nextAt: now().getTime() + pause });
    },
  };
}
