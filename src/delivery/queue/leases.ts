import type { Queryable } from '../../database/client.ts';
import { extendLeases, type Lease } from './queue.ts';

const RENEW_INTERVAL_MILLISECONDS = 500;

/** The leases that this process holds. Each is extended after a third of its duration. */
export function createLeases<T extends Lease>({ db, leaseSeconds }: { db: Queryable; leaseSeconds: number }) {
  // When each lease was last extended, by the monotonic clock.
  const held = new Map<T, number>();
  let renewedAt = Number.NEGATIVE_INFINITY;

  return {
    count: (): number => held.size,
    all: (): T[] => [...held.keys()],

    add(leases: readonly T[]): void {
      const now = performance.now();
      for (const lease of leases) held.set(lease, now);
    },

    release(leases: readonly T[]): void {
      for (const lease of leases) held.delete(lease);
    },

    async prolong(): Promise<void> {
      const now = performance.now();
      if (now - renewedAt < RENEW_INTERVAL_MILLISECONDS) return;
      const old = [...held].filter(([, since]) => now - since > (leaseSeconds * 1000) / 3).map(([lease]) => lease);
      // `renewedAt` changes only after success, so a failed extension is retried before the next claim finds the
      // delivery.
      const prolonged = old.length > 0 ? await extendLeases(db, old, leaseSeconds) : undefined;
      renewedAt = now;
      for (const lease of old) if (held.has(lease) && prolonged?.has(lease.id)) held.set(lease, now);
    },

    /** Whether the lease is certainly still valid, judging only by this process's clock. */
    isSure: (lease: T): boolean =>
      performance.now() - (held.get(lease) ?? Number.NEGATIVE_INFINITY) < leaseSeconds * 1000,
  };
}
