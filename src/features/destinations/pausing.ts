import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database } from '../../database/client.ts';
import { mayChangeWaiting } from '../../delivery/queue/bulk-changes.ts';
import { changeWaiting, type DestinationKind, releaseHeld } from '../../delivery/queue/held.ts';
import { HEALTHY } from './input.ts';

type Pause = { pausedAt: Date | null; pausedReason: string | null };

/**
 * Whether the owner's change pauses (true) or resumes (false) a destination. Undefined if nothing changes. A pause
 * without a reason was started by the owner, and only the owner can end it.
 *
 * @param change `isPaused`: the owner's requested value. `mayFix`: whether the change may fix the problem that made the
 *   service pause the destination.
 */
export function pauseChange(
  change: { isPaused?: boolean | undefined; mayFix: boolean },
  { pausedAt, pausedReason }: Pause,
): boolean | undefined {
  const isPaused = change.isPaused ?? (change.mayFix && pausedReason !== null ? false : undefined);
  const isAlready = isPaused ? pausedAt !== null && pausedReason === null : pausedAt === null;
  return isAlready ? undefined : isPaused;
}

/** The columns that change when the owner pauses or resumes a destination. Empty if nothing changes. */
export function pausedColumns(isPaused: boolean | undefined, { pausedAt }: Pause) {
  if (isPaused === undefined) return {};
  return isPaused
    ? { pausedAt: pausedAt ?? new Date(sharedNow()), pausedReason: null }
    : { pausedAt: null, pausedReason: null, ...HEALTHY };
}

/**
 * Holds or releases the waiting deliveries of a destination that was just paused or resumed. Workers do the same for
 * those that this leaves behind.
 */
export async function applyPause(
  { db, bus }: { db: Pick<Database, 'pool'>; bus: Bus },
  kind: DestinationKind,
  { id, projectId }: { id: string; projectId: string },
  isPaused: boolean,
): Promise<void> {
  if (await mayChangeWaiting(db.pool, projectId)) {
    await (isPaused ? changeWaiting(db.pool, kind, id, 'hold') : releaseHeld(db.pool, id));
  }
  if (!isPaused) bus.publish(topics.deliveriesDue);
  bus.publish(topics.deliveries(projectId));
}
