import { LeaseLost, type PaymentLease } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';

/** The duration of a lease. If a process dies, another one takes over its payments after this time. */
export const LEASE_SECONDS = 15;
const RENEW_MILLISECONDS = 5_000;

/** Renews a lease while `run` runs. The signal is aborted when another process takes over the payment. */
export async function renewingLease<T>(
  ledger: Pick<Ledger, 'extend'>,
  lease: PaymentLease,
  run: (lost: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController();
  const timer = setInterval(() => {
    ledger.extend(lease, LEASE_SECONDS).catch((error) => {
      // After any other error, the next renewal still comes before the lease expires.
      if (error instanceof LeaseLost) lost.abort(error);
    });
  }, RENEW_MILLISECONDS).unref();
  try {
    return await run(lost.signal);
  } finally {
    clearInterval(timer);
  }
}
