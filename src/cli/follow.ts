import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from './failure.ts';

export type LiveItem<Item> = { cursor: string; item: Item };

export type FollowOptions<Item> = {
  /** Opens the subscription. Without a cursor, it starts with the next item. */
  open(after: string | undefined): Promise<AsyncIterable<LiveItem<Item>>>;
  /** Existing items in pages, newest first. Only as many pages as needed are read. */
  history(): AsyncIterable<Item[]>;
  /** Identifies an item: two items with the same key are the same update. */
  keyOf(item: Item): string;
  /** Whether to include items that already exist. */
  fromHistory: boolean;
  /** Called once, as soon as no further item can be missed. */
  onReady(): void;
  /** Called each time the connection is lost. */
  onLost(reason: string): void;
  signal: AbortSignal;
};

const MIN_PAUSE_MILLISECONDS = 250;
const MAX_PAUSE_MILLISECONDS = 10_000;
/** How many keys to keep to recognize duplicates. When the connection is restored, a few items can arrive twice. */
const MAX_KEYS = 10_000;

/**
 * Follows a subscription across lost connections without missing or repeating items. It continues from the last item's
 * cursor. Before the first item, there is no cursor, so it looks for new items in the history instead.
 *
 * @throws Failure for a problem that waiting wouldn't fix, such as a revoked credential.
 */
export async function* follow<Item>(options: FollowOptions<Item>): AsyncGenerator<Item> {
  const { open, history, keyOf, fromHistory, onReady, onLost, signal } = options;
  const seen = new Set<string>();
  let cursor: string | undefined;
  let pauseMilliseconds = MIN_PAUSE_MILLISECONDS;

  function isNew(item: Item): boolean {
    const key = keyOf(item);
    if (seen.has(key)) return false;
    seen.add(key);
    if (seen.size > MAX_KEYS) seen.delete(seen.values().next().value!);
    return true;
  }

  /** Items added since the history was last read. Reads pages up to the first one with a known item. */
  async function unseen(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const page of history()) {
      const fresh = page.filter((item) => !seen.has(keyOf(item)));
      items.push(...fresh);
      if (fresh.length < page.length) break;
    }
    return items.reverse();
  }

  async function passOverHistory(): Promise<void> {
    for await (const page of history()) {
      for (const item of page) isNew(item);
      break;
    }
  }

  let isReady = false;
  while (!signal.aborted) {
    try {
      if (!isReady && !fromHistory) await passOverHistory();
      if (!isReady) onReady();
      isReady = true;
      const live = await open(cursor);
      if (cursor === undefined) for (const item of await unseen()) if (isNew(item)) yield item;
      for await (const { cursor: reached, item } of live) {
        pauseMilliseconds = MIN_PAUSE_MILLISECONDS;
        if (isNew(item)) yield item;
        cursor = reached;
      }
      onLost('the service closed the stream');
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Failure) || !error.isTransient) throw error;
      onLost(error.message);
    }
    await delay(pauseMilliseconds, undefined, { signal }).catch(() => {});
    pauseMilliseconds = Math.min(pauseMilliseconds * 2, MAX_PAUSE_MILLISECONDS);
  }
}
