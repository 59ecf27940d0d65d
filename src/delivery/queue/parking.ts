import type { Queryable } from '../../database/client.ts';
import { type ClaimRequest, claimParked, type ParkedResult, park } from './claim.ts';

/** How often to look for parked deliveries that another process has left behind. */
const VISIT_EVERY_MILLISECONDS = 1_000;

/**
 * The destinations that have parked deliveries, as far as this process knows. Parked deliveries are due deliveries
 * without capacity that were moved out of the queue, where they would be in the way. While a destination has any, its
 * other due deliveries are parked too, and all of them are claimed from there in order. The rows themselves are the
 * source of truth: any process finds them by index, so nothing is lost when a process dies.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createParking(db: Queryable, now: () => number = () => performance.now()) {
  let destinations: ReadonlySet<string> = new Set();
  /** What the current round has found so far, and where it continues. */
  let found = new Set<string>();
  let after = '';
  let visitedAt = Number.NEGATIVE_INFINITY;
  /** The destinations that had no due deliveries left in the queue after the last round of parking. */
  let cleared: ReadonlySet<string> = destinations;

  return {
    destinations: (): string[] => [...destinations],

    add(ids: readonly string[]): void {
      if (ids.length === 0) return;
      destinations = new Set([...destinations, ...ids]);
      for (const id of ids) found.add(id);
    },

    /** Parks a batch of the due deliveries to these destinations. */
    async park(marks: readonly number[]): Promise<void> {
      if (destinations.size === 0) return;
      const parked = destinations;
      const hasMore = await park(db, [...parked], marks);
      cleared = hasMore ? new Set() : parked;
    },

    /** Whether all due deliveries to these destinations are parked. If so, claims have nothing to pass over. */
    isDone: (): boolean => [...destinations].every((id) => cleared.has(id)),

    isToBeVisited: (): boolean => destinations.size > 0 || now() - visitedAt > VISIT_EVERY_MILLISECONDS,

    /** Claims parked deliveries that have capacity, continuing where the last claim stopped. */
    async claim(request: ClaimRequest): Promise<ParkedResult> {
      visitedAt = now();
      const result = await claimParked(db, request, after);
      for (const id of result.waiting) found.add(id);
      after = result.after;
      if (after === '') {
        destinations = found;
        found = new Set();
      } else {
        destinations = new Set([...destinations, ...found]);
      }
      return result;
    },
  };
}
