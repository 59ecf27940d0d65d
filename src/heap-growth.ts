import {
  constants,
  type PerformanceEntry,
  PerformanceObserver,
  type PerformanceObserverCallback,
} from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** How far the heap may grow above what was alive at the last full collection. V8's default allows several times that. */
const GROWTH_PERCENT = 50;
/**
 * The size of both halves of the space for new objects, which V8 lets grow to 128 MB. In a larger space, fewer objects get
 * old, which saves time. The larger size applies while little stays alive, as with destinations that respond at once.
 */
const NEW_SPACE_BYTES = 32 * 1024 * 1024;
const ROOMY_NEW_SPACE_BYTES = 64 * 1024 * 1024;
/** "Little" is less than this in the space for old objects after several full collections in a row, without a pause. */
const LITTLE_BYTES = 48 * 1024 * 1024;
const COLLECTIONS_IN_A_ROW = 2;
const PAUSE_MILLISECONDS = 10_000;
/** Heap options set by the operator. They take precedence. */
const HEAP_OPTIONS = /--(max|min|initial)[-_](old|semi|heap|new)|--(heap[-_]growing|semi[-_]space[-_]growth)/;

/**
 * Makes this process collect garbage early instead of taking more memory: V8 trades memory for time, and by default a worker
 * with 70 MB alive grows to 600 MB. This sets no limit, so the heap can grow if it must. Does nothing if Node's options set
 * the heap size. Measured in docs/decisions/0022-heap-growth.md.
 *
 * https://v8.dev/blog/trash-talk
 *
 * @returns whether it was turned on.
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
 * V8 doubles this space while much of it survives, and shrinks it when the process is idle. It reads the factor each time,
 * but the maximum size only once, before any of our code runs.
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
