import type { Logger } from 'pino';
import { LeaseLost, leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { createLoop } from '../../loop.ts';
import { renewingLease } from './renew-lease.ts';
import type { Settler } from './settle.ts';

export type Recovery = {
  /** Looks for abandoned payments immediately and then every few seconds, because their authorizations expire soon. */
  start(): void;
  /** Waits for recoveries in progress. */
  stop(): Promise<void>;
};

const POLL_MILLISECONDS = 2_000;
/** An account gets at most half of these. */
const AT_ONCE = 40;
/** The more payments are abandoned, the longer each search takes, so several are searched for at a time. */
const REFILL = 5;

/**
 * Resumes payments after their process has died, and looks up settlements with an unknown outcome. Every process does
 * this, and each payment belongs to one process at a time.
 *
 * Unserved payments fail and cost nothing. Served payments are settled, and their response is kept for buyers who retry
 * the request. Payments that may already be settled are looked up on the chain.
 */
export function createRecovery(options: {
  ledger: Ledger;
  settler: Settler;
  log: Logger;
  pollMilliseconds?: number;
  /** Whether no payment may be resumed now. */
  isOnHold?: () => boolean;
}): Recovery {
  const { ledger, settler, log, pollMilliseconds = POLL_MILLISECONDS, isOnHold = () => false } = options;
  /** How many recoveries still have to finish before the next search starts early. */
  let missing = 0;
  /** The recoveries in progress, with the project of each. */
  const running = new Map<Promise<void>, string>();

  const steps: Partial<Record<Payment['status'], (payment: Payment) => Promise<unknown>>> = {
    CLAIMED: (payment) => abandon(payment, 'VERIFY'),
    VERIFIED: (payment) => abandon(payment, 'UPSTREAM'),
    SERVED: (payment) => settler.settle(payment),
    SETTLING: (payment) => settler.resolve(payment, leaseOf(payment)),
    UNKNOWN: (payment) => settler.resolve(payment, leaseOf(payment)),
  };

  function abandon(payment: Payment, stage: 'VERIFY' | 'UPSTREAM') {
    const message = 'The gateway was interrupted before it could respond. Nothing was charged.';
    return ledger.failed(leaseOf(payment), { stage, reason: 'interrupted', message });
  }

  async function recover(payment: Payment): Promise<void> {
    log.info({ paymentId: payment.id, status: payment.status }, 'resuming a payment');
    await renewingLease(ledger, leaseOf(payment), async () => steps[payment.status]?.(payment)).catch((error) => {
      if (error instanceof LeaseLost) return;
      log.error({ err: error, paymentId: payment.id }, "couldn't recover a payment; will retry");
    });
  }

  async function recoverAbandoned(): Promise<void> {
    if (isOnHold()) return;
    const payments = await ledger.takeAbandoned(AT_ONCE - running.size, [...running.values()]);
    for (const payment of payments) {
      const recovery = recover(payment).finally(() => {
        running.delete(recovery);
        missing -= 1;
        if (missing <= 0) loop.wake();
      });
      running.set(recovery, payment.projectId);
    }
  }

  // The next search starts when a few recoveries have finished, so that one that waits for the facilitator doesn't hold
  // up the others, or when some time has passed.
  const loop = createLoop({
    task: 'look for abandoned payments',
    intervalMilliseconds: pollMilliseconds,
    log,
    async round() {
      missing = Number.POSITIVE_INFINITY;
      try {
        await recoverAbandoned();
      } finally {
        missing = Math.min(REFILL, running.size);
      }
    },
  });

  return {
    start: loop.start,
    async stop() {
      await loop.stop();
      await Promise.all(running.keys());
    },
  };
}
