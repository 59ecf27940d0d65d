import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import type { OwnHosts } from '../../config/own-hosts.ts';
import type { Database } from '../../database/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import type { Network } from '../chain/networks.ts';
import { createCredentialOpener } from '../upstream/credentials.ts';
import { type HostTable, openHostTable } from './host-table.ts';
import { createLoadPacing, type LoadPace } from './load-pacing.ts';
import { type LoadedRoutes, loadRoutes, type PaidRoute, readRoutesVersion } from './load-routes.ts';
import { createMatcher, type Found } from './route-match.ts';

export type RouteTable = Omit<HostTable, 'close'> & {
  /**
   * The active endpoint for a canonical path and a method in a project, or why it can't be called like this. Undefined
   * if no path matches.
   */
  find(projectId: string, segments: readonly string[], method: string): Promise<Found<PaidRoute> | undefined>;
  /**
   * Whether `find` may wait for other reads of the project's account. Its reads run one after the other, so they don't
   * need a share of the database connections, and waiting requests shouldn't hold one.
   */
  isPaced(projectId: string): boolean;
  /** The version of a project's routes, if they are in memory and current. Every reload has its own. */
  version(projectId: string): number | undefined;
  close(): void;
};

type Routes = Omit<LoadedRoutes, 'routes'> & { match: ReturnType<typeof createMatcher<PaidRoute>> };

type Entry = {
  routes: Promise<Routes>;
  /** About how much memory it takes. */
  bytes: number;
  loadedAt: number;
  version: number;
  forget(): void;
  /** Set when no route is found in this entry. */
  successor?: Promise<Entry>;
};

// How long a change can go unnoticed if a hint is lost.
const MAX_AGE_MILLISECONDS = 1_000;
/** How often a project can be reloaded for paths that aren't found. */
const RELOAD_MILLISECONDS = 100;
/** How much memory the routes of all projects may take: about 50,000 usual routes, or 2,400 of the largest ones. */
const MAX_BYTES = 134_217_728;
/** The memory that a project takes without its routes, even if nobody has it. Measured in V8. */
const PROJECT_BYTES = 2_500;

/**
 * Keeps projects' endpoints in memory. Hints on the bus invalidate a project on every node, and no project is served from
 * memory for more than a second without being compared with the database. Before a path counts as unknown, it is looked
 * up in the database, because its endpoint may be new. Only routes that have changed are read again: anyone can request
 * unknown paths, and a project can have many endpoints.
 *
 * @param options `ownHosts` and `gatewayDomain`: see `openHostTable`. `maxBytes`: how much memory the routes of all projects
 *   may take. `maxAgeMilliseconds`: how long a change can go unnoticed if a hint is lost, instead of the usual times for
 *   routes and for hosts. `pace`: how much an account's routes may be read. `now` returns the time of a monotonic clock in
 *   milliseconds.
 */
export async function openRouteTable(options: {
  db: Pick<Database, 'pool'>;
  bus: Bus;
  log: Logger;
  /** The networks that the server serves, preferred first. */
  networks: readonly Network[];
  ownHosts: OwnHosts | undefined;
  secretBox: Pick<SecretBox, 'open'>;
  gatewayDomain?: string | undefined;
  maxBytes?: number;
  maxAgeMilliseconds?: number | undefined;
  pace?: LoadPace;
  now?: () => number;
}): Promise<RouteTable> {
  const { db, bus, networks, gatewayDomain } = options;
  const { maxBytes = MAX_BYTES, maxAgeMilliseconds = MAX_AGE_MILLISECONDS } = options;
  const { now = () => performance.now() } = options;
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let lastVersion = 0;
  const openCredentials = createCredentialOpener(options);
  const pacing = createLoadPacing({ now, pace: options.pace });
  /** The reads that haven't started, by project. */
  const waiting = new Map<string, Promise<Routes>>();
  const hosts = await openHostTable({ ...options, gatewayDomain });

  /** Adds an entry for a project. If `known` is still up to date, the new entry has the same routes. */
  function load(projectId: string, known: Entry | undefined): Entry {
    known?.forget();
    const unsubscribe = bus.subscribe(topics.routes(projectId), forget);
    const routes = reloadRoutes(projectId, known);
    const entry: Entry = { routes, bytes: 0, loadedAt: now(), version: ++lastVersion, forget };
    entries.set(projectId, entry);
    resize(PROJECT_BYTES);
    routes.then((loaded) => isCurrent() && resize(PROJECT_BYTES + loaded.bytes), forget);
    return entry;

    function isCurrent(): boolean {
      return entries.get(projectId) === entry;
    }
    function resize(to: number): void {
      bytes += to - entry.bytes;
      entry.bytes = to;
      while (bytes > maxBytes && entries.size > 1) entries.values().next().value!.forget();
    }
    function forget(): void {
      unsubscribe();
      if (!isCurrent()) return;
      entries.delete(projectId);
      bytes -= entry.bytes;
    }
  }

  async function reloadRoutes(projectId: string, known: Entry | undefined): Promise<Routes> {
    const before = await known?.routes.catch(() => undefined);
    if (before?.version && before.version === (await readRoutesVersion(db.pool, projectId))) return before;
    return pacing.orUnavailable(readRoutes(projectId));
  }

  /** A read that hasn't started includes every change until now, so all that need one share it. */
  function readRoutes(projectId: string): Promise<Routes> {
    const known = waiting.get(projectId);
    if (known) return known;
    const reading = pacing.run(projectId, async () => {
      waiting.delete(projectId);
      const { routes, ...rest } = await loadRoutes(db.pool, projectId, networks, openCredentials);
      return { match: createMatcher(routes), ...rest };
    });
    waiting.set(projectId, reading);
    return reading;
  }

  function currentEntry(projectId: string): Entry | undefined {
    const known = entries.get(projectId);
    return known && now() - known.loadedAt <= maxAgeMilliseconds ? known : undefined;
  }

  function entryOf(projectId: string): Entry {
    return currentEntry(projectId) ?? load(projectId, entries.get(projectId));
  }

  /**
   * The entry that replaces this one. It is loaded only after all the requests that wait for it have arrived, so a
   * flood of requests for unknown paths shares it.
   */
  function successorOf(projectId: string, entry: Entry): Promise<Entry> {
    entry.successor ??= sleep(Math.max(0, entry.loadedAt + RELOAD_MILLISECONDS - now())).then(() =>
      entries.get(projectId) === entry ? load(projectId, entry) : entryOf(projectId),
    );
    return entry.successor;
  }

  return {
    async find(projectId, segments, method) {
      const known = entries.get(projectId);
      const entry = entryOf(projectId);
      const found = (await entry.routes).match(segments, method);
      if (found?.route || entry !== known) return found;
      return (await (await successorOf(projectId, entry)).routes).match(segments, method);
    },
    isPaced: pacing.isPaced,
    version: (projectId) => currentEntry(projectId)?.version,
    projectOfHost: hosts.projectOfHost,
    challengeOf: hosts.challengeOf,
    close() {
      hosts.close();
      for (const entry of [...entries.values()]) entry.forget();
    },
  };
}

/**
 * Finds a route with a client address's share of the database connections, unless the routes are in memory or the
 * request may have to wait for other reads of the project's account. That can change while it waits for its share.
 *
 * @param lookUp runs a function once the address has a connection left.
 */
export async function findInShare<T>(
  { version, isPaced }: Pick<RouteTable, 'version' | 'isPaced'>,
  projectId: string,
  find: () => Promise<T>,
  lookUp: <R>(find: () => Promise<R>) => Promise<R>,
): Promise<T> {
  const needsShare = () => version(projectId) === undefined && !isPaced(projectId);
  if (!needsShare()) return find();
  const found = await lookUp(async () => needsShare() && { route: await find() });
  return found ? found.route : find();
}
