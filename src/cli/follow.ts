import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from './failure.ts';

export type LiveItem<Item> = { cursor: string; item: Item };

export type FollowOptions<Item> = {
  /** Opens the subscription; without a cursor it begins with what happens next. */
  open(after: string | undefined): Promise<AsyncIterable<LiveItem<Item>>>;
  /** What there is already, in pages, the newest first; read as far as needed. */
  history(): AsyncIterable<Item[]>;
  /** Tells items apart: two with the same key are the same news. */
  keyOf(item: Item): string;
  /** Whether what was there before is news too. */
  fromHistory: boolean;
  /** Told once from when on nothing is missed. */
  onReady(): void;
  /** Told of every lost connection. */
  onLost(reason: string): void;
  signal: AbortSignal;
};

const MIN_PAUSE_MILLISECONDS = 250;
const MAX_PAUSE_MILLISECONDS = 10_000;
/** Keys kept to recognize repeats; around a reconnect a few items come twice. */
const MAX_KEYS = 10_000;

/**
 * Follows a subscription across lost connections: nothing is missed, and nothing comes twice. It goes on from the cursor
 * of the last item. Before the first item there is no cursor; then what is new in the history is looked up instead.
 *
 * @throws Failure that waiting would not mend, such as a credential that was revoked.
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

  /** What has come since the history was last read: up to the page that holds something known. */
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
      onLost('the service ended the stream');
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Failure) || !error.isTransient) throw error;
      onLost(error.message);
    }
    await delay(pauseMilliseconds, undefined, { signal }).catch(() => {});
    pauseMilliseconds = Math.min(pauseMilliseconds * 2, MAX_PAUSE_MILLISECONDS);
  }
}
