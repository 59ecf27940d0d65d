import { collectHints } from '../bus/hints.ts';
import type { Prefetch } from './prefetch.ts';
import type { Progress } from './progress.ts';
import { type Present, type Reader, readChanges } from './read-changes.ts';
import { createRetryingReader } from './retrying-reader.ts';

export type TailOptions<Row, Item> = Reader<Row> & {
  start: Progress;
  present: Present<Row, Item>;
  /** Subscribes to hints about new rows. Returns the unsubscribe function. */
  subscribe(wake: () => void): () => void;
  /** Determines how many rows are read at a time, and counts them. */
  prefetch?: Prefetch;
  /** How often to read without a hint, because hints may be lost. */
  pollMilliseconds: number;
};

/** Hints that arrive faster than this share one read. */
const MIN_PAUSE_MILLISECONDS = 40;
/** The pause after a read lasts as long as the read did, up to this limit. */
const MAX_PAUSE_MILLISECONDS = 250;

/**
 * Follows a table: existing rows after `start`, then new ones. Within one run, it never misses a row, no matter in what
 * order transactions commit, and never shows the same version of a row twice. It reads only as fast as it is consumed,
 * and ends immediately when `signal` aborts.
 */
export async function* tail<Row, Item>(
  options: TailOptions<Row, Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void> {
  const { pollMilliseconds } = options;
  const hints = collectHints(options.subscribe, signal);
  const retrying = createRetryingReader(() => hints.rest(pollMilliseconds), signal);
  const reader: Reader<Row> = {
    query: (request) => retrying.read(() => options.query(request)),
    load: (rows) => retrying.read(() => options.load(rows)),
  };
  let progress = options.start;
  try {
    while (!signal.aborted) {
      hints.clear();
      const { reached, isFull } = yield* readChanges(options, reader, progress);
      progress = reached;
      if (isFull) continue;
      const pauseUntil = performance.now() + pauseAfter(retrying.takeSpentMilliseconds());
      await hints.next(pollMilliseconds);
      await hints.rest(pauseUntil - performance.now());
    }
  } finally {
    hints.close();
  }
}

function pauseAfter(spentMilliseconds: number): number {
  return Math.min(Math.max(MIN_PAUSE_MILLISECONDS, spentMilliseconds), MAX_PAUSE_MILLISECONDS);
}
