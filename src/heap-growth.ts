import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** How much the heap may grow over what was alive at the last full collection; V8 lets it become several times as large. */
const GROWTH_PERCENT = 50;
/** Both halves of the space for new objects; V8 makes it 128 MB. Smaller, it is collected so often that it costs time. */
const NEW_SPACE_BYTES = 32 * 1024 * 1024;
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
  limitNewSpace();
  new PerformanceObserver(limitNewSpace).observe({ entryTypes: ['gc'] });
  return true;
}

/**
 * V8 doubles this space while much of it survives, and makes it small again when the process is idle. It reads the factor
 * each time, but the option for the largest size only once, before there is any code of ours.
 */
function limitNewSpace(): void {
  const factor = newSpaceBytes() < NEW_SPACE_BYTES ? 2 : 1;
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}
