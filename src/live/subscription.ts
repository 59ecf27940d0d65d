import { setTimeout as sleep } from 'node:timers/promises';
import type { Backlog } from '../limits/backlog.ts';
import type { Follower } from './follower.ts';
import { createPrefetch } from './prefetch.ts';
import { type FoundRow, isShown, type Progress } from './progress.ts';
import { type Reader, readChanges } from './read-changes.ts';
import { createReadVersions } from './read-versions.ts';
import { createRetryingReader } from './retrying-reader.ts';

export type SubscriptionOptions<Row, Item> = Reader<Row> & {
  start: Progress;
  /** Creates an item from a row and the progress to resume from after that row. */
  toItem(row: Row, progress: Progress): Item;
  /** Whether a row's last change can be ignored. For example, claiming a delivery isn't worth reporting. */
  isIgnorable(row: Row): boolean;
  /** The filter of `query`, for rows from the follower. */
  matches(row: Row): boolean;
  /** Returns the follower to share. It can change, because a follower ends when its last member leaves. */
  findFollower(): Follower<Row, Item>;
  backlog?: Pick<Backlog, 'reserve' | 'isCrowded'> | undefined;
  retryMilliseconds: number;
  onEnd(): void;
};

/**
 * Shows existing rows after `start`, then new ones. It never misses a row, and never shows the same version of a row
 * twice. It reads existing rows on its own. New rows come from a follower that it shares with other subscriptions. If
 * the consumer is slower than the writers, the subscription reads on its own again until it has caught up.
 */
export function subscribeToRows<Row, Item>(
  options: SubscriptionOptions<Row, Item>,
): AsyncIterableIterator<Item, void, undefined> {
  const stop = new AbortController();
  const items = showRows(options, stop.signal);
  let hasEnded = false;
  function end(): void {
    if (!hasEnded) options.onEnd();
    hasEnded = true;
    stop.abort();
  }
  return {
    async next() {
      try {
        const result = await items.next();
        if (result.done) end();
        return result;
      } catch (error) {
        end();
        throw error;
      }
    },
    // A generator would notice only at its next item that the consumer has stopped, and that item may never come.
    return() {
      end();
      return items.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* showRows<Row, Item>(
  options: SubscriptionOptions<Row, Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void> {
  const { toItem, isIgnorable, matches, findFollower, backlog, retryMilliseconds } = options;
  const rest = () => sleep(retryMilliseconds, undefined, { signal }).catch(() => {});
  const retrying = createRetryingReader(rest, signal);
  const reader: Reader<Row> = {
    query: (request) => retrying.read(() => options.query(request)),
    load: (rows) => retrying.read(() => options.load(rows)),
  };
  const prefetch = createPrefetch(backlog);
  const reserve = (bytes: number) => backlog?.reserve(bytes) ?? (() => {});
  const isCrowded = () => backlog?.isCrowded() ?? false;
  const present = (row: Row, reached: Progress, location: FoundRow) => ({
    item: toItem(row, reached),
    location,
    isRowIgnorable: isIgnorable(row),
  });
  let progress = options.start;
  /** What was shown when rows last came from the follower. Its progress may not include all of that yet. */
  let shown: Progress | undefined;
  const versions = createReadVersions(async (row) => (await reader.load([row])).has(row.id));

  /** Reads a page of rows. Returns whether there may be more. */
  async function* readOn(): AsyncGenerator<Item, boolean> {
    const found = readChanges({ present, prefetch }, reader, progress);
    try {
      for (;;) {
        const { done, value } = await found.next();
        if (done) {
          progress = value.reached;
          return value.isFull;
        }
        versions.add(value.location);
        if (!shown || !isShown(value.location, shown, value.isRowIgnorable)) yield value.item;
      }
    } finally {
      // Releases what is held for the rest of the page.
      await found.return({ reached: progress, isFull: false });
    }
  }

  while (!signal.aborted) {
    const member = await findFollower().join({ matches, reserve, isCrowded });
    try {
      const isBehind = yield* readOn();
      if (!isBehind && !signal.aborted) {
        shown = progress;
        progress = yield* member.items(progress, versions.isCurrent, signal);
      }
    } finally {
      member.leave();
    }
    while (!signal.aborted && (yield* readOn()));
  }
}
