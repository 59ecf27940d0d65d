/** How many settlements of a payment are sent without a pause. */
const SENT_AT_ONCE = 3;
const FIRST_PAUSE_MILLISECONDS = 5_000;
/** Above this number, the oldest payments are forgotten. */
const MAX_PAYMENTS = 10_000;

/**
 * Slows down settlements that are sent again, because each may be a reverted transaction that the facilitator pays for.
 * Each process counts for itself.
 */
export function createResends({ now }: { now: () => Date }) {
  const sent = new Map<string, { count: number; nextAt: number }>();

  return {
    /** Whether enough time has passed since the last settlement that didn't succeed. */
    mayResend: (paymentId: string): boolean => now().getTime() >= (sent.get(paymentId)?.nextAt ?? 0),

    /** Counts a settlement that didn't succeed. After the first few, each pause is twice as long as the last. */
    count(paymentId: string): void {
      const count = (sent.get(paymentId)?.count ?? 0) + 1;
      const pause = count < SENT_AT_ONCE ? 0 : FIRST_PAUSE_MILLISECONDS * 2 ** (count - SENT_AT_ONCE);
      sent.delete(paymentId);
      sent.set(paymentId, { count, nextAt: now().getTime() + pause });
      if (sent.size > MAX_PAYMENTS) sent.delete(sent.keys().next().value!);
    },
  };
}
