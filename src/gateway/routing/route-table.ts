import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import type { OwnHosts } from '../../config/own-hosts.ts';
import type { Database } from '../../database/client.ts';
import { parseUpstream, type Upstream } from '../upstream/target.ts';
import { createOwnHostsFilter } from './own-hosts-filter.ts';
import { hostNameOf } from './public-address.ts';
import { createMatcher } from './route-match.ts';

/** A paid endpoint as the gateway serves it. */
export type PaidRoute = {
  projectId: string;
  endpointId: string;
  /** As stored, with its placeholders. */
  path: string;
  pattern: readonly string[];
  description: string | null;
  upstream: Upstream;
  upstreamUrl: string;
  /** Names of request headers that the upstream gets in addition to the usual ones. */
  forwardedHeaders: readonly string[];
  /** The project's wallet, EIP-55 checksummed. */
  payTo: `0x${string}`;
  priceAtomic: bigint;
  /** Earlier prices, for as long as payments at these prices may still arrive. */
  previousPrices: { priceAtomic: bigint; validUntil: Date }[];
};

export type RouteTable = {
  /** The active endpoint for a canonical path in a project, if there is one. */
  find(projectId: string, segments: readonly string[]): Promise<PaidRoute | undefined>;
  /** The version of a project's routes, if they are in memory and current. Every reload has its own. */
  version(projectId: string): number | undefined;
  /** The project that a host name belongs to. Never a project for the service's own host names. */
  projectOfHost(host: string): string | undefined;
  close(): void;
};

type Entry = {
  match: Promise<ReturnType<typeof createMatcher<PaidRoute>>>;
  loadedAt: number;
  version: number;
  forget(): void;
  /** Set when a path isn't found in this entry. */
  successor?: Promise<Entry>;
};

type Row = {
  endpointId: string;
  path: string;
  description: string | null;
  upstreamUrl: string;
  forwardedHeaders: string[];
  payTo: string;
  priceAtomic: string;
  previousPrices: { priceAtomic: string; validUntil: string }[];
};

// How long a change can go unnoticed if a hint is lost.
const MAX_AGE_MILLISECONDS = 1_000;
/** How often a project can be reloaded for paths that aren't found. */
const RELOAD_MILLISECONDS = 100;
const HOSTS_MAX_AGE_MILLISECONDS = 30_000;
const MAX_PROJECTS = 10_000;

/**
 * Keeps projects' endpoints in memory. Hints on the bus invalidate a project on every node, and no project stays in
 * memory for more than a second without being reloaded. Before a path counts as unknown, it is looked up in the
 * database, because its endpoint may be new.
 *
 * @param options `ownHosts`: the service's own host names, if they are known. `now` returns milliseconds of a monotonic
 *   clock.
 */
export async function openRouteTable(options: {
  db: Pick<Database, 'pool'>;
  bus: Bus;
  log: Logger;
  ownHosts: OwnHosts | undefined;
  now?: () => number;
}): Promise<RouteTable> {
  const { db, bus, log, ownHosts, now = () => performance.now() } = options;
  const entries = new Map<string, Entry>();
  let lastVersion = 0;
  const withoutOwnHosts = createOwnHostsFilter(ownHosts, log);
  let projectsByHost = withoutOwnHosts(await loadHosts(db));

  function load(projectId: string): Entry {
    const unsubscribe = bus.subscribe(topics.routes(projectId), forget);
    const match = loadRoutes(db, projectId).then(createMatcher<PaidRoute>);
    const entry: Entry = { match, loadedAt: now(), version: ++lastVersion, forget };
    function forget(): void {
      unsubscribe();
      if (entries.get(projectId) === entry) entries.delete(projectId);
    }
    match.catch(forget);
    return entry;
  }

  function currentEntry(projectId: string): Entry | undefined {
    const known = entries.get(projectId);
    return known && now() - known.loadedAt <= MAX_AGE_MILLISECONDS ? known : undefined;
  }

  function entryOf(projectId: string): Entry {
    const current = currentEntry(projectId);
    if (current) return current;
    entries.get(projectId)?.forget();
    const [oldest] = entries.values();
    if (oldest && entries.size >= MAX_PROJECTS) oldest.forget();
    const entry = load(projectId);
    entries.set(projectId, entry);
    return entry;
  }

  /**
   * The entry that replaces this one. It is loaded only after all the requests that wait for it have arrived, so a
   * flood of unknown paths shares it.
   */
  function successorOf(projectId: string, entry: Entry): Promise<Entry> {
    entry.successor ??= sleep(Math.max(0, entry.loadedAt + RELOAD_MILLISECONDS - now())).then(() => {
      entry.forget();
      return entryOf(projectId);
    });
    return entry.successor;
  }

  // Refreshes run one after the other, so an older result never replaces a newer one.
  let refreshing: Promise<void> = Promise.resolve();
  function refreshHosts(): void {
    refreshing = refreshing
      .then(async () => {
        projectsByHost = withoutOwnHosts(await loadHosts(db));
      })
      .catch((error) => log.warn({ err: error }, "couldn't read gateway hosts; will retry"));
  }
  const unsubscribeHosts = bus.subscribe(topics.gatewayHosts, refreshHosts);
  const hostTimer = setInterval(refreshHosts, HOSTS_MAX_AGE_MILLISECONDS).unref();

  return {
    async find(projectId, segments) {
      const known = entries.get(projectId);
      const entry = entryOf(projectId);
      const route = (await entry.match)(segments);
      if (route || entry !== known) return route;
      return (await (await successorOf(projectId, entry)).match)(segments);
    },
    version: (projectId) => currentEntry(projectId)?.version,
    projectOfHost: (host) => (projectsByHost.size === 0 ? undefined : projectsByHost.get(hostNameOf(host))),
    close() {
      clearInterval(hostTimer);
      unsubscribeHosts();
      for (const entry of [...entries.values()]) entry.forget();
    },
  };
}

async function loadRoutes(db: Pick<Database, 'pool'>, projectId: string): Promise<PaidRoute[]> {
  // Oldest first: of two paths with the same shape, the older one is served.
  const { rows } = await db.pool.query<Row>({
    name: 'gateway-routes',
    text: `SELECT e.id AS "endpointId", e.path, e.description, e."upstreamUrl", e."forwardedHeaders",
                  p."walletAddress" AS "payTo", e."priceAtomic"::text AS "priceAtomic",
                  ARRAY(SELECT json_build_object('priceAtomic', o."priceAtomic"::text, 'validUntil', o."validUntil")
                          FROM "PreviousPrice" o
                         WHERE o."endpointId" = e.id AND o."validUntil" > now()) AS "previousPrices"
             FROM "Endpoint" e
             JOIN "Project" p ON p.id = e."projectId"
            WHERE e."projectId" = $1 AND e."isActive"
            ORDER BY e.id`,
    values: [projectId],
  });
  return rows.map((row) => toRoute(projectId, row));
}

function toRoute(projectId: string, row: Row): PaidRoute {
  const { endpointId, path, description, upstreamUrl, forwardedHeaders, previousPrices } = row;
  return {
    projectId,
    endpointId,
    path,
    pattern: path.slice(1).split('/'),
    description,
    upstream: parseUpstream(upstreamUrl),
    upstreamUrl,
    forwardedHeaders,
    payTo: row.payTo as `0x${string}`,
    priceAtomic: BigInt(row.priceAtomic),
    previousPrices: previousPrices.map(({ priceAtomic, validUntil }) => ({
      priceAtomic: BigInt(priceAtomic),
      validUntil: new Date(validUntil),
    })),
  };
}

async function loadHosts(db: Pick<Database, 'pool'>): Promise<Map<string, string>> {
  const { rows } = await db.pool.query<{ host: string; projectId: string }>(
    `SELECT "gatewayHost" AS host, id AS "projectId" FROM "Project" WHERE "gatewayHost" IS NOT NULL`,
  );
  return new Map(rows.map(({ host, projectId }) => [host.toLowerCase(), projectId]));
}
