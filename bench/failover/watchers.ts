import { setTimeout as sleep } from 'node:timers/promises';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { followPrices, type PriceFeed } from '../support/price-feed.ts';
import { SELLER } from './load.ts';
import { createInsist } from './requests.ts';
import { stopwatch } from './stopwatch.ts';

/** Each belongs to another account. */
const PROJECTS = 4;
const CHANGE_PAUSE_MILLISECONDS = 500;
const RECONNECT_MILLISECONDS = 250;
/** How long the sockets may take to catch up at the end. */
const STUCK_MILLISECONDS = 180_000;

/** Live subscriptions, each on its own socket. */
export type Watchers = Awaited<ReturnType<typeof startWatchers>>;

/**
 * Changes a price in each of four projects about twice a second, and watches every project on several sockets, which
 * reconnect and continue where they left off.
 *
 * @param options.socketsPerProject up to 50: an account can have no more in a process, and all may end up in the same one
 */
export async function startWatchers(options: { url: string; dataDir: string; socketsPerProject: number }) {
  const { url, dataDir, socketsPerProject } = options;
  let isStopping = false;
  const issuer = await openDevIssuer({ dataDir });

  async function watchProject(index: number) {
    const token = await issuer.sign({ subject: `watched-${index}`, tier: 'ENTERPRISE', requestsPerMinute: null });
    const insist = createInsist({ url, token });
    const { id: projectId } = await insist('POST', '/api/projects', { name: 'Watched', walletAddress: SELLER });
    const endpoints = `/api/projects/${projectId}/endpoints`;
    const endpoint = { path: '/a', upstreamUrl: 'https://api.example.com', priceUsd: '1' };
    const { id } = await insist('POST', endpoints, endpoint);
    const sockets = Array.from({ length: socketsPerProject }, () => watch({ url, token, projectId }));
    let changes = 0;
    const changing = (async () => {
      while (!isStopping) {
        await insist('PATCH', `${endpoints}/${id}`, { priceUsd: ((changes + 1) / 1e6).toFixed(6) });
        changes += 1;
        await sleep(CHANGE_PAUSE_MILLISECONDS);
      }
    })();
    await Promise.all(sockets.map(({ started }) => started));
    return { sockets, changing, changes: () => changes };
  }

  const projects = await Promise.all(Array.from({ length: PROJECTS }, (_, index) => watchProject(index)));
  const sockets = projects.flatMap((project) => project.sockets);
  /** How many frames are missing, from each socket's first one to the last change. */
  const missing = () =>
    projects.reduce(
      (sum, { sockets: watching, changes }) =>
        sum + watching.reduce((frames, socket) => frames + socket.missing(changes()), 0),
      0,
    );

  return {
    count: sockets.length,
    frames: () => sockets.reduce((sum, { frames }) => sum + frames(), 0),
    /** The longest time that any socket has waited for a frame since the last call, in seconds. */
    pause: () => Math.max(...sockets.map(({ pause }) => pause())),
    /** Stops, waits until every socket has every frame, and returns how many are lost. */
    async stop(): Promise<number> {
      isStopping = true;
      await Promise.all(projects.map(({ changing }) => changing));
      const startedAt = performance.now();
      while (missing() > 0 && performance.now() - startedAt < STUCK_MILLISECONDS) await sleep(200);
      const lost = missing();
      await Promise.all(sockets.map((socket) => socket.close()));
      return lost;
    },
  };
}

function watch({ url, token, projectId }: { url: string; token: string; projectId: string }) {
  const pause = stopwatch();
  const seen = new Set<number>();
  const started = Promise.withResolvers<void>();
  let first: number | undefined;
  let cursor: string | null = null;
  let isEnding = false;
  let feed: PriceFeed | undefined;

  function onPrice(priceUsd: string, next: string): void {
    cursor = next;
    pause.note();
    const number = Math.round(Number(priceUsd) * 1e6);
    first ??= number;
    seen.add(number);
    started.resolve();
  }

  const running = (async () => {
    while (!isEnding) {
      feed = followPrices({ url, projectId, token: () => token, after: cursor, onPrice });
      await feed.closed;
      if (!isEnding) await sleep(RECONNECT_MILLISECONDS);
    }
  })();
  return {
    started: started.promise,
    frames: () => seen.size,
    pause: pause.read,
    missing(lastChange: number): number {
      let count = 0;
      for (let number = first!; number <= lastChange; number++) if (!seen.has(number)) count += 1;
      return count;
    },
    async close(): Promise<void> {
      isEnding = true;
      feed?.close();
      await running;
    },
  };
}
