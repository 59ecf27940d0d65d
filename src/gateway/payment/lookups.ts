import { sourceOf } from '../../limits/failed-credentials.ts';
import { createConnectionShares } from '../../limits/fair-queue.ts';
import type { PaidRequest } from './paid-request.ts';
import { busyRefusal } from './refusals.ts';

export type Lookups = ReturnType<typeof createLookups>;

/**
 * Limits how many database connections a client address uses to look up projects that aren't in memory, and payments
 * before they are claimed. Anyone can request projects that don't exist. Payments that don't meet the terms aren't
 * counted, and even those that are above a limit are looked up, because their buyers may already have paid.
 *
 * @param poolSize how many database connections the process has.
 * @returns a function that takes a client address, and a signal that is aborted when the buyer disconnects.
 */
export function createLookups(poolSize: number) {
  const shares = createConnectionShares(poolSize);

  return (address: string, gone: AbortSignal): Pick<PaidRequest, 'lookUp'> => ({
    lookUp: (find) =>
      shares.run(sourceOf(address), async () => {
        if (gone.aborted) throw busyRefusal({});
        return find();
      }),
  });
}
