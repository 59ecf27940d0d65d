import type { Logger } from 'pino';
import { LeaseLost, leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { holdingLease } from './hold-lease.ts';
import type { Settler } from './settle.ts';

export type Recovery = {
  /** Looks for abandoned payments at once, and then every few seconds: their authorizations expire soon. */
  start(): void;
  /** Waits for recoveries in progress. */
  stop(): Promise<void>;
};

const POLL_MILLISECONDS = 2_000;
const AT_ONCE = 20;

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
}): Recovery {
  const { ledger, settler, log, pollMilliseconds = POLL_MILLISECONDS } = options;
  let isRunning = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const running = new Set<Promise<void>>();

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
    await holdingLease(ledger, leaseOf(payment), async () => steps[payment.status]?.(payment)).catch((error) => {
      if (error instanceof LeaseLost) return;
      log.error({ err: error, paymentId: payment.id }, "couldn't recover a payment; will retry");
    });
  }

  /** Keeps up to `AT_ONCE` recoveries running, so that one that waits for the facilitator doesn't hold up the others. */
  async function recoverAll(): Promise<void> {
    while (isRunning) {
      const free = AT_ONCE - running.size;
      const payments = await ledger.takeAbandoned(free);
      for (const payment of payments) {
        const recovery = recover(payment).finally(() => running.delete(recovery));
        running.add(recovery);
      }
      if (payments.length < free) return;
      await Promise.race(running);
    }
  }

  /** The time between rounds is randomized so that processes don't all poll at once. */
  function nextRound(): void {
    round = recoverAll()
      .catch((error) => log.warn({ err: error }, "couldn't look for abandoned payments; will retry"))
      .then(() => {
        if (isRunning) timer = setTimeout(nextRound, pollMilliseconds * (0.75 + Math.random() / 2));
      });
  }

  return {
    start() {
      isRunning = true;
      nextRound();
    },
    async stop() {
      isRunning = false;
      clearTimeout(timer);
      await round;
      await Promise.all(running);
    },
  };
}
