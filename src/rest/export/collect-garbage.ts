import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' | 'major' }) => void;

/** A page allocates a few megabytes. */
const MAX_NEW_BYTES = 8 * 1024 * 1024;
/** How much garbage can pile up among the older objects and in buffers. */
const MAX_OLD_BYTES = 20 * 1024 * 1024;

let collect: Collect | undefined;
/** What was in use after the last full collection. */
let keptBytes: number | undefined;

/**
 * Frees what reading and formatting pages left behind, if it is more than a few megabytes. Call this between two pages,
 * when almost nothing of them is in use. V8 itself collects only when its space for new objects is full, and lets that
 * space grow to 128 MB. Whatever then seems to be in use moves to the older objects, which V8 lets grow to twice their
 * size.
 */
export function collectGarbage(): void {
  collect ??= findCollector();
  keptBytes ??= usedBytes();
  if (newBytes() >= MAX_NEW_BYTES) collect({ type: 'minor' });
  if (usedBytes() - keptBytes < MAX_OLD_BYTES) return;
  collect({ type: 'major' });
  keptBytes = usedBytes();
}

function newBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => name.startsWith('new_'));
  return spaces.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
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
