import { TollgateError } from './errors.ts';
import { wait } from './wait.ts';

export type FollowOptions = {
  projectId?: string;
  /** Ends the feed. */
  signal?: AbortSignal;
  /** The `cursor` of an earlier feed, to continue from there. Default: start with the next change. */
  after?: string;
  /** Whether to start with the existing items, oldest first. Ignored if you pass `after`. Default: false. */
  includeExisting?: boolean;
  /** Called once, when the feed is guaranteed to receive every new change. */
  onReady?: () => void;
  /** Called each time the connection is lost. The feed then reconnects. */
  onReconnect?: (error: TollgateError) => void;
};

/** Changes as they happen. */
export type Feed<Item> = AsyncIterable<Item> & {
  /**
   * Your position: the cursor of the last item you received. Save it to continue from here later. Undefined until an
   * item has arrived over the subscription. Items that were created while the subscription was being opened have no
   * cursor.
   */
  readonly cursor: string | undefined;
};

export type LiveItem<Item> = { cursor: string; item: Item };

export type FeedSource<Item> = FollowOptions & {
  /** Opens the subscription. Without a cursor, it starts with the next item. */
  subscribe(after: string | undefined, signal: AbortSignal): Promise<AsyncIterable<LiveItem<Item>>>;
  /** Existing items, newest first, in pages. Only as many pages as needed are read. */
  history(): AsyncIterable<Item[]>;
  /** Two items with the same key represent the same change. */
  keyOf(item: Item): string;
};

/** How many keys to remember, to recognize changes that arrive twice after a reconnect. */
const MAX_KEYS = 10_000;
const MIN_PAUSE_SECONDS = 0.25;
const MAX_PAUSE_SECONDS = 10;
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  'CONNECTION_FAILED',
  'TIMED_OUT',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'INTERNAL',
]);

/**
 * Follows a subscription, and reconnects if the connection is lost, continuing from the cursor of the last item. Before
 * the first item, there is no cursor, so the feed looks for new items in the history instead.
 */
export function createFeed<Item>(source: FeedSource<Item>): Feed<Item> {
  const { signal, includeExisting = false, onReady, onReconnect } = source;
  const seen = createSeen(source);
  let cursor = source.after;

  async function* items(): AsyncGenerator<Item> {
    let pauseSeconds = MIN_PAUSE_SECONDS;
    let isReady = false;
    while (!signal?.aborted) {
      const connection = new AbortController();
      try {
        if (!isReady && cursor === undefined && !includeExisting) await seen.passOverHistory();
        if (!isReady) onReady?.();
        isReady = true;
        const live = await source.subscribe(
          cursor,
          signal ? AbortSignal.any([signal, connection.signal]) : connection.signal,
        );
        if (cursor === undefined) for (const item of await seen.unseen()) if (seen.isNew(item)) yield item;
        for await (const change of live) {
          pauseSeconds = MIN_PAUSE_SECONDS;
          cursor = change.cursor;
          if (seen.isNew(change.item)) yield change.item;
        }
        onReconnect?.(new TollgateError('CONNECTION_FAILED', 'The service closed the stream.'));
      } catch (error) {
        if (signal?.aborted) return;
        if (!isTransient(error)) throw error;
        onReconnect?.(error);
        pauseSeconds = Math.max(pauseSeconds, error.retryAfterSeconds ?? 0);
      } finally {
        connection.abort();
      }
      await wait(pauseSeconds, signal).catch(() => {});
      pauseSeconds = Math.min(pauseSeconds * 2, MAX_PAUSE_SECONDS);
    }
  }

  return {
    get cursor() {
      return cursor;
    },
    [Symbol.asyncIterator]: items,
  };
}

/** The changes that the feed has already received. */
function createSeen<Item>({ history, keyOf }: FeedSource<Item>) {
  const keys = new Set<string>();

  function isNew(item: Item): boolean {
    const key = keyOf(item);
    if (keys.has(key)) return false;
    keys.add(key);
    if (keys.size > MAX_KEYS) keys.delete(keys.values().next().value!);
    return true;
  }

  return {
    isNew,

    async passOverHistory(): Promise<void> {
      for await (const page of history()) {
        page.forEach(isNew);
        return;
      }
    },

    /** The items added since the history was last read. Reads pages up to the first one with a known item. */
    async unseen(): Promise<Item[]> {
      const items: Item[] = [];
      for await (const page of history()) {
        const fresh = page.filter((item) => !keys.has(keyOf(item)));
        items.push(...fresh);
        if (fresh.length < page.length) break;
      }
      return items.reverse();
    },
  };
}

function isTransient(error: unknown): error is TollgateError {
  if (!(error instanceof TollgateError)) return false;
  return TRANSIENT_CODES.has(error.code) || error.status === 429 || (error.status ?? 0) >= 500;
}
