import type { Logger } from 'pino';
import { LeaseLost } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { holdingLease, leaseOf } from './lease.ts';
import type { Settler } from './settle.ts';

export type Recovery = {
  start(): void;
  /** Waits for what is being recovered. */
  stop(): Promise<void>;
};

const POLL_MILLISECONDS = 2_000;
const AT_ONCE = 20;

/**
 * Goes on with payments whose process has died, and asks the chain about those whose settlement is not known: every
 * process does, and each payment is one process's at a time.
 *
 * What was not served fails and costs nothing. What was served is settled: its answer is kept for the buyer who repeats
 * the request. What may have been settled already is looked up.
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

  const steps: Partial<Record<Payment['status'], (payment: Payment) => Promise<unknown>>> = {
    CLAIMED: (payment) => abandon(payment, 'VERIFY'),
    VERIFIED: (payment) => abandon(payment, 'UPSTREAM'),
    SERVED: (payment) => settler.settle(payment),
    SETTLING: (payment) => settler.resolve(payment),
    UNKNOWN: (payment) => settler.resolve(payment),
  };

  function abandon(payment: Payment, stage: 'VERIFY' | 'UPSTREAM') {
    const message = 'The gateway was interrupted before the request was answered. Nothing was charged.';
    return ledger.failed(leaseOf(payment), { stage, reason: 'interrupted', message });
  }

  async function recover(payment: Payment): Promise<void> {
    log.info({ paymentId: payment.id, status: payment.status }, 'going on with a payment');
    await holdingLease(ledger, leaseOf(payment), async () => steps[payment.status]?.(payment)).catch((error) => {
      if (error instanceof LeaseLost) return;
      log.error({ err: error, paymentId: payment.id }, 'a payment was not recovered; it will be tried again');
    });
  }

  async function recoverAll(): Promise<void> {
    for (;;) {
      const payments = await ledger.takeAbandoned(AT_ONCE);
      await Promise.all(payments.map(recover));
      if (payments.length < AT_ONCE || !isRunning) return;
    }
  }

  function schedule(): void {
    if (!isRunning) return;
    // Apart from the other processes, so that they do not all look at once.
    timer = setTimeout(
      () => {
        round = recoverAll()
          .catch((error) =>
            log.warn({ err: error }, 'abandoned payments were not looked for; the next time they will be'),
          )
          .then(schedule);
      },
      pollMilliseconds * (0.75 + Math.random() / 2),
    );
  }

  return {
    start() {
      isRunning = true;
      schedule();
    },
    async stop() {
      isRunning = false;
      clearTimeout(timer);
      await round;
    },
  };
}
