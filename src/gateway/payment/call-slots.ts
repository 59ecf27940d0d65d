import { sourceOf } from '../../limits/failed-credentials.ts';

/** Half of an account's connections to an origin; see `connectionsPerOrigin` in `app.ts`. */
const MAX_PER_ADDRESS = 512;

export type CallSlots = ReturnType<typeof createCallSlots>;

/**
 * Limits how many paid calls a client address (for IPv6, a /64) can have in progress to one origin of an account. One
 * buyer can't take all of the account's connections, and others don't have to wait for one.
 */
export function createCallSlots(maxPerAddress: number = MAX_PER_ADDRESS) {
  const counts = new Map<string, number>();

  return {
    /** Returns a function that releases the slot, or undefined if no slot is left. */
    take(accountId: string, origin: string, address: string): (() => void) | undefined {
      const key = `${accountId} ${origin} ${sourceOf(address)}`;
      const count = counts.get(key) ?? 0;
      if (count >= maxPerAddress) return undefined;
      counts.set(key, count + 1);
      return () => {
        const left = counts.get(key)! - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      };
    },
  };
}
