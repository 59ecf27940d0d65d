import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

/** A page allocates a few megabytes. */
const MAX_NEW_BYTES = 8 * 1024 * 1024;

let collect: Collect | undefined;

/**
 * Frees the objects that reading and formatting pages left behind, if there are many. Call this between two pages, when
 * almost none of them is in use: that takes less than a millisecond. V8 itself collects whenever its space for new
 * objects is full, so usually in the middle of a page. The page then counts as surviving, and V8 responds by enlarging
 * that space and by moving the page to the old objects, where it stays for a while after it was sent.
 */
export function collectNewObjects(): void {
  const newSpace = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  if (!newSpace || newSpace.space_used_size < MAX_NEW_BYTES) return;
  collect ??= findCollector();
  collect({ type: 'minor' });
}

/** Node has no API for this. Contexts that are created while the flag is set have the function. */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
