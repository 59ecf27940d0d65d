import { randomBytes } from 'node:crypto';
import type { ReplayFilter } from '../../../packages/sdk/src/index.ts';
import { createLru } from '../../lru.ts';

/** A replay whose deliveries have been counted, but that hasn't started yet. */
export type PreparedReplay = { projectId: string; filter: ReplayFilter; maxPerSecond: number; total: number };
export type Confirmations = ReturnType<typeof createConfirmations>;

const LIFETIME_MILLISECONDS = 10 * 60_000;
const MAX_WAITING = 20;

/**
 * The replays that are waiting for confirmation. Each confirmation is for one replay with one filter, and can be used
 * only once, so the replay that starts is the one that was counted.
 *
 * @param now a monotonic clock in milliseconds
 */
export function createConfirmations(now: () => number = () => performance.now()) {
  const waiting = createLru<{ replay: PreparedReplay; preparedAt: number }>(MAX_WAITING);
  return {
    /** Stores a replay for ten minutes. @returns the confirmation that starts it */
    add(replay: PreparedReplay): string {
      const confirmation = `confirm_${randomBytes(12).toString('hex')}`;
      waiting.set(confirmation, { replay, preparedAt: now() });
      return confirmation;
    },

    /** Uses up a confirmation. @returns its replay, or undefined if the confirmation is unknown, used, or expired */
    take(confirmation: string): PreparedReplay | undefined {
      const found = waiting.get(confirmation);
      waiting.delete(confirmation);
      return found && now() - found.preparedAt < LIFETIME_MILLISECONDS ? found.replay : undefined;
    },
  };
}
