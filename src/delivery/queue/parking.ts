import type { Queryable } from '../../database/client.ts';
import { type ClaimRequest, claimParked, type ParkedResult, park } from './claim.ts';

/** How often to look for parked deliveries that another process has left. */
const VISIT_EVERY_MILLISECONDS = 1_000;

/**
 * The destinations that this process knows to have parked deliveries: due ones without room, taken out of the queue so that
 * they aren't in the way. As long as a destination has some, its due deliveries are parked too, and it is served from
 * there in order. The rows themselves are the truth: any process finds them by index, so nothing is lost with a process.
 *
 * @param now milliseconds of a clock that never steps back.
 */
export function createParking(db: Queryable, now: () => number = () => performance.now()) {
  let destinations: ReadonlySet<string> = new Set();
  /** What the current round has found, and where it continues. */
  let found = new Set<string>();
  let after = '';
  let visitedAt = Number.NEGATIVE_INFINITY;
  /** The destinations that nothing in the queue is due to, as far as the last parking has seen. */
  let cleared: ReadonlySet<string> = destinations;

  return {
    destinations: (): string[] => [...destinations],

    add(ids: readonly string[]): void {
      if (ids.length === 0) return;
      destinations = new Set([...destinations, ...ids]);
      for (const id of ids) found.add(id);
    },

    /** Parks what is due to these destinations, a portion at a time. */
    async park(marks: readonly number[]): Promise<void> {
      if (destinations.size === 0) return;
      const parked = destinations;
      const hasMore = await park(db, [...parked], marks);
      cleared = hasMore ? new Set() : parked;
    },

    /** Whether everything due to these destinations is parked, so that claims pass over nothing. */
    isDone: (): boolean => [...destinations].every((id) => cleared.has(id)),

    isToBeVisited: (): boolean => destinations.size > 0 || now() - visitedAt > VISIT_EVERY_MILLISECONDS,

    /** Claims parked deliveries for which there is room, continuing where the last claim stopped. */
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
