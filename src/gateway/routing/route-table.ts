import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import type { Database } from '../../database/client.ts';
import { parseUpstream, type Upstream } from '../upstream/target.ts';
import { createMatcher } from './route-match.ts';

/** A paid endpoint as the gateway serves it. */
export type Route = {
  projectId: string;
  endpointId: string;
  /** As stored, with its placeholders. */
  path: string;
  pattern: readonly string[];
  description: string | null;
  upstream: Upstream;
  upstreamUrl: string;
  /** The project's wallet, EIP-55 checksummed. */
  payTo: `0x${string}`;
  priceAtomic: bigint;
  /** The price before the last change, while payments for it may be under way. */
  previousPrice?: { priceAtomic: bigint; validUntil: Date };
};

export type RouteTable = {
  /** The active endpoint that answers a canonical path of a project, if there is one. */
  find(projectId: string, segments: readonly string[]): Promise<Route | undefined>;
  /** The project that a host name belongs to. */
  projectOfHost(host: string): string | undefined;
  close(): void;
};

type Entry = { match: Promise<ReturnType<typeof createMatcher<Route>>>; loadedAt: number; forget(): void };

type Row = {
  endpointId: string;
  path: string;
  description: string | null;
  upstreamUrl: string;
  payTo: string;
  priceAtomic: string;
  previousPriceAtomic: string | null;
  previousValidUntil: Date | null;
};

// Hints may be lost; this is how long a change can then go unnoticed.
const MAX_AGE_MILLISECONDS = 1_000;
const HOSTS_MAX_AGE_MILLISECONDS = 30_000;
const MAX_PROJECTS = 10_000;

/**
 * The endpoints of projects, kept in memory. A change is noticed when the bus tells of it, on every node alike; a table
 * is read anew after a second in any case.
 *
 * @param options `now` is milliseconds of a clock that never steps back.
 */
export async function openRouteTable(options: {
  db: Pick<Database, 'pool'>;
  bus: Bus;
  log: Logger;
  now?: () => number;
}): Promise<RouteTable> {
  const { db, bus, log, now = () => performance.now() } = options;
  const entries = new Map<string, Entry>();
  let projectsByHost: ReadonlyMap<string, string> = await loadHosts(db);

  function load(projectId: string): Entry {
    const unsubscribe = bus.subscribe(topics.routes(projectId), forget);
    const match = loadRoutes(db, projectId).then(createMatcher<Route>);
    const entry: Entry = { match, loadedAt: now(), forget };
    function forget(): void {
      unsubscribe();
      if (entries.get(projectId) === entry) entries.delete(projectId);
    }
    match.catch(forget);
    return entry;
  }

  function entryOf(projectId: string): Entry {
    const known = entries.get(projectId);
    if (known && now() - known.loadedAt <= MAX_AGE_MILLISECONDS) return known;
    known?.forget();
    const [oldest] = entries.values();
    if (oldest && entries.size >= MAX_PROJECTS) oldest.forget();
    const entry = load(projectId);
    entries.set(projectId, entry);
    return entry;
  }

  // One after the other, so that an older answer never replaces a newer one.
  let refreshing: Promise<void> = Promise.resolve();
  function refreshHosts(): void {
    refreshing = refreshing
      .then(async () => {
        projectsByHost = await loadHosts(db);
      })
      .catch((error) => log.warn({ err: error }, 'gateway hosts were not read; the next time they will be'));
  }
  const unsubscribeHosts = bus.subscribe(topics.gatewayHosts, refreshHosts);
  const hostTimer = setInterval(refreshHosts, HOSTS_MAX_AGE_MILLISECONDS).unref();

  return {
    async find(projectId, segments) {
      return (await entryOf(projectId).match)(segments);
    },
    projectOfHost: (host) => (projectsByHost.size === 0 ? undefined : projectsByHost.get(hostNameOf(host))),
    close() {
      clearInterval(hostTimer);
      unsubscribeHosts();
      for (const entry of [...entries.values()]) entry.forget();
    },
  };
}

/** The name in a Host header (RFC 9110 §7.2), in lower case, without its port and the dot of the root. */
function hostNameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}

async function loadRoutes(db: Pick<Database, 'pool'>, projectId: string): Promise<Route[]> {
  // The oldest first: of two paths of the same shape it is the one that is served.
  const { rows } = await db.pool.query<Row>({
    name: 'gateway-routes',
    text: `SELECT e.id AS "endpointId", e.path, e.description, e."upstreamUrl", p."walletAddress" AS "payTo",
                  e."priceAtomic"::text AS "priceAtomic", o."priceAtomic"::text AS "previousPriceAtomic",
                  o."validUntil" AS "previousValidUntil"
             FROM "Endpoint" e
             JOIN "Project" p ON p.id = e."projectId"
             LEFT JOIN "PreviousPrice" o ON o."endpointId" = e.id AND o."validUntil" > now()
            WHERE e."projectId" = $1 AND e."isActive"
            ORDER BY e.id`,
    values: [projectId],
  });
  return rows.map((row) => toRoute(projectId, row));
}

function toRoute(projectId: string, row: Row): Route {
  const { endpointId, path, description, upstreamUrl, previousPriceAtomic, previousValidUntil } = row;
  return {
    projectId,
    endpointId,
    path,
    pattern: path.slice(1).split('/'),
    description,
    upstream: parseUpstream(upstreamUrl),
    upstreamUrl,
    payTo: row.payTo as `0x${string}`,
    priceAtomic: BigInt(row.priceAtomic),
    ...(previousPriceAtomic !== null &&
      previousValidUntil && {
        previousPrice: { priceAtomic: BigInt(previousPriceAtomic), validUntil: previousValidUntil },
      }),
  };
}

async function loadHosts(db: Pick<Database, 'pool'>): Promise<Map<string, string>> {
  const { rows } = await db.pool.query<{ host: string; projectId: string }>(
    `SELECT "gatewayHost" AS host, id AS "projectId" FROM "Project" WHERE "gatewayHost" IS NOT NULL`,
  );
  return new Map(rows.map(({ host, projectId }) => [host.toLowerCase(), projectId]));
}
