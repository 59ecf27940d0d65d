import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../support/child.ts';
import { followPrices, type PriceFeed } from '../support/price-feed.ts';
import type { Marks, TimeCollector } from './marks.ts';

/** How long a client stays connected. */
const MIN_STAY_MILLISECONDS = 10_000;
const MAX_STAY_MILLISECONDS = 60_000;
const RETRY_MILLISECONDS = 500;

/** A client that comes and goes. It continues where it left off, so it must see every event. */
export type Dashboard = Awaited<ReturnType<typeof openDashboard>>;

export async function openDashboard(options: {
  url: string;
  projectId: string;
  token: () => Promise<string>;
  marks: Marks;
  times: TimeCollector;
}) {
  const { url, projectId, token, marks, times } = options;
  const seen = new Set<number>();
  let cursor: string | null = null;
  let isEnding = false;
  let connections = 0;
  let feed: PriceFeed | undefined;
  const started = Promise.withResolvers<void>();

  async function stay(): Promise<void> {
    let openedAt = 0;
    let timer: NodeJS.Timeout | undefined;
    feed = followPrices({
      url,
      projectId,
      token,
      after: cursor,
      onOpen() {
        connections += 1;
        openedAt = now();
        const stayMilliseconds =
          MIN_STAY_MILLISECONDS + Math.random() * (MAX_STAY_MILLISECONDS - MIN_STAY_MILLISECONDS);
        timer = setTimeout(() => feed?.close(), stayMilliseconds);
      },
      onSubscribe: started.resolve,
      onPrice(priceUsd, next) {
        cursor = next;
        const number = marks.numberOf(priceUsd);
        const sentAt = marks.sentAt(number);
        // Events from before the connection don't count, because they were waiting for the client.
        if (!seen.has(number) && sentAt > openedAt) times.add('frames', now() - sentAt);
        seen.add(number);
      },
    });
    await feed.closed;
    clearTimeout(timer);
  }

  const running = (async () => {
    while (!isEnding) {
      await stay();
      if (!isEnding) await sleep(RETRY_MILLISECONDS);
    }
  })();
  await started.promise;
  return {
    projectId,
    seen,
    connections: () => connections,
    hasCursor: () => cursor !== null,
    async close(): Promise<void> {
      isEnding = true;
      feed?.close();
      await running;
    },
  };
}
