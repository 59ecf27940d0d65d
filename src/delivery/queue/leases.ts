import type { Queryable } from '../../database/client.ts';
import { extendLeases, type Lease } from './queue.ts';

const LOOK_EVERY_MILLISECONDS = 500;

/** What this process has in its hands: keeps the leases of it, each prolonged when a third of its time is over. */
export function createLeases<T extends Lease>({ db, leaseSeconds }: { db: Queryable; leaseSeconds: number }) {
  // When each was last prolonged, by the clock that only goes forward.
  const held = new Map<T, number>();
  let lookedAt = Number.NEGATIVE_INFINITY;

  return {
    count: (): number => held.size,
    all: (): T[] => [...held.keys()],

    hold(leases: readonly T[]): void {
      const now = performance.now();
      for (const lease of leases) held.set(lease, now);
    },

    release(leases: readonly T[]): void {
      for (const lease of leases) held.delete(lease);
    },

    async prolong(): Promise<void> {
      const now = performance.now();
      if (now - lookedAt < LOOK_EVERY_MILLISECONDS) return;
      const old = [...held].filter(([, since]) => now - since > (leaseSeconds * 1000) / 3).map(([lease]) => lease);
      // A call that fails does not count as a look: a claim must not find what could not be prolonged.
      const prolonged = old.length > 0 ? await extendLeases(db, old, leaseSeconds) : undefined;
      lookedAt = now;
      for (const lease of old) if (held.has(lease) && prolonged?.has(lease.id)) held.set(lease, now);
    },

    /** Whether it cannot have ended yet, as far as is known without asking the database. */
    isSure: (lease: T): boolean =>
      performance.now() - (held.get(lease) ?? Number.NEGATIVE_INFINITY) < leaseSeconds * 1000,
  };
}
