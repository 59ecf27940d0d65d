import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database } from '../../database/client.ts';
import { changeWaiting, type DestinationKind, releaseHeld } from '../../delivery/queue/held.ts';
import { HEALTHY } from './input.ts';

type Pause = { pausedAt: Date | null; pausedReason: string | null };

/**
 * Whether the owner's change pauses (true) or resumes (false) a destination. Undefined if it does neither. A pause
 * without a reason was made by the owner, and only the owner ends it.
 *
 * @param change `isPaused`: what the owner asks for. `mayFix`: whether the change may fix the problem that made the
 *   service pause the destination.
 */
export function pauseChange(
  change: { isPaused?: boolean | undefined; mayFix: boolean },
  { pausedReason }: Pause,
): boolean | undefined {
  return change.isPaused ?? (change.mayFix && pausedReason !== null ? false : undefined);
}

/** The columns that change when the owner pauses or resumes a destination, or does neither. */
export function pausedColumns(isPaused: boolean | undefined, { pausedAt }: Pause) {
  if (isPaused === undefined) return {};
  return isPaused
    ? { pausedAt: pausedAt ?? new Date(sharedNow()), pausedReason: null }
    : { pausedAt: null, pausedReason: null, ...HEALTHY };
}

/** Holds or releases the waiting deliveries of a destination that was just paused or resumed. */
export async function applyPause(
  { db, bus }: { db: Pick<Database, 'pool'>; bus: Bus },
  kind: DestinationKind,
  { id, projectId }: { id: string; projectId: string },
  isPaused: boolean,
): Promise<void> {
  if (isPaused) {
    await changeWaiting(db.pool, kind, id, 'hold');
  } else {
    await releaseHeld(db.pool, id);
    bus.publish(topics.deliveriesDue);
  }
  bus.publish(topics.deliveries(projectId));
}
