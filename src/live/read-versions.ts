import { createLru } from '../lru.ts';
import type { FoundRow } from './progress.ts';

/** The maximum number of rows to remember: enough for several pages. */
const MAX_ROWS = 1_000;

/**
 * Remembers which versions of rows a subscription has read itself. A follower may have read a row just before the row
 * changed, and pass on that version only after the subscription has shown the newer one. Neither times nor transactions
 * show which of two versions is newer, so the row is looked up.
 *
 * @param isUnchanged whether the row is unchanged since it was found.
 */
export function createReadVersions(isUnchanged: (row: FoundRow) => Promise<boolean>) {
  const transactions = createLru<bigint>(MAX_ROWS);

  return {
    add({ id, transaction }: FoundRow): void {
      transactions.set(id, transaction);
    },

    /** Whether the follower's version of the row is at least as new as the one that was read. */
    async isCurrent(row: FoundRow): Promise<boolean> {
      const read = transactions.get(row.id);
      if (read === undefined || read === row.transaction) return true;
      if (!(await isUnchanged(row))) return false;
      // From now on, the follower passes on only newer versions.
      transactions.delete(row.id);
      return true;
    },
  };
}
