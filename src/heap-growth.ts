import {
  constants,
  type PerformanceEntry,
  PerformanceObserver,
  type PerformanceObserverCallback,
} from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** How much the heap may grow over what was alive at the last full collection; V8 lets it become several times as large. */
const GROWTH_PERCENT = 50;
/**
 * The space for new objects, both halves; V8 makes it 128 MB. The larger, the fewer die old, which costs less time: it is
 * the larger one while little stays alive, as with receivers that answer at once.
 */
const NEW_SPACE_BYTES = 32 * 1024 * 1024;
const ROOMY_NEW_SPACE_BYTES = 64 * 1024 * 1024;
/** Little is this in the space for old objects after so many full collections in a row, without a pause between them. */
const LITTLE_BYTES = 48 * 1024 * 1024;
const COLLECTIONS_IN_A_ROW = 2;
const PAUSE_MILLISECONDS = 10_000;
/** Options of whoever runs the process, by which the heap is to be as they say. */
const HEAP_OPTIONS = /--(max|min|initial)[-_](old|semi|heap|new)|--(heap[-_]growing|semi[-_]space[-_]growth)/;

/**
 * Lets this process collect garbage early rather than take the memory for it: V8 trades memory for time, and by default a
 * worker that has 70 MB alive grows to 600 MB. It sets no limit, so a heap that has to be larger becomes larger. Where
 * options of Node say how large the heap may be, they alone count.
 *
 * https://v8.dev/blog/trash-talk
 *
 * @returns whether it does.
 */
export function growHeapSlowly(
  nodeOptions = `${process.env.NODE_OPTIONS ?? ''} ${process.execArgv.join(' ')}`,
): boolean {
  if (HEAP_OPTIONS.test(nodeOptions)) return false;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  setFlagsFromString('--semi-space-growth-factor=1');
  new PerformanceObserver(createNewSpaceLimit()).observe({ entryTypes: ['gc'] });
  return true;
}

/**
 * V8 doubles this space while much of it survives, and makes it small again when the process is idle. It reads the factor
 * each time, but the option for the largest size only once, before there is any code of ours.
 */
function createNewSpaceLimit(): PerformanceObserverCallback {
  let collections = 0;
  let lastAt = Number.NEGATIVE_INFINITY;

  return function limitNewSpace(list): void {
    const spaces = new Map(getHeapSpaceStatistics().map((space) => [space.space_name, space]));
    if (list.getEntries().some(isFullCollection)) {
      const isLittle = (spaces.get('old_space')?.space_used_size ?? 0) < LITTLE_BYTES;
      const now = performance.now();
      collections = isLittle && now - lastAt < PAUSE_MILLISECONDS ? collections + 1 : 0;
      lastAt = now;
    }
    const most = collections >= COLLECTIONS_IN_A_ROW ? ROOMY_NEW_SPACE_BYTES : NEW_SPACE_BYTES;
    const factor = (spaces.get('new_space')?.space_size ?? 0) < most ? 2 : 1;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
}

// https://nodejs.org/api/perf_hooks.html#garbage-collection-gc-details
const isFullCollection = (entry: PerformanceEntry & { detail?: { kind?: number } }): boolean =>
  entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
