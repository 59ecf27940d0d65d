import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import type { OwnHosts } from '../../config/own-hosts.ts';
import type { Database } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { CHALLENGE_PREFIX, challengePathOf } from '../../features/projects/hosts/proof.ts';
import { createOwnHostsFilter } from './own-hosts-filter.ts';
import { hostNameOf } from './public-address.ts';

export type HostTable = {
  /**
   * The project that a host name belongs to. The service's own host names never belong to a project. Unknown names
   * under the operator's domain belong neither to a project nor to the service.
   */
  projectOfHost(host: string): string | undefined;
  /** What a project's own host returns at this path, as proof that the host still points here. */
  challengeOf(host: string, path: string): string | undefined;
  close(): void;
};

type Host = { host: string; projectId: string; token: string | null; isCustom: boolean };
/** The hosts of a bucket, with a version that depends only on them. */
type Bucket = { bucket: number; version: string | null; hosts: Host[] };

/** The project for unassigned names under the operator's domain. No real ID looks like this. */
const NOBODY = 'nobody';
const MAX_AGE_MILLISECONDS = 30_000;
/** Hosts are read in groups, of which there are this many. */
const BUCKETS = 1024;

/**
 * Keeps the host names of all projects in memory: custom ones, and those under the operator's domain.
 * Hosts are assigned to buckets by name, and only buckets that have changed are read again: there can be many hosts,
 * and anyone can keep changing one.
 *
 * @param options `ownHosts`: the service's own host names, if known. `gatewayDomain`: the operator's domain, if
 *   there is one. `maxAgeMilliseconds`: how long a change can go unnoticed if a hint is lost.
 */
export async function openHostTable(options: {
  db: Pick<Database, 'pool'>;
  bus: Bus;
  log: Logger;
  ownHosts: OwnHosts | undefined;
  gatewayDomain: string | undefined;
  maxAgeMilliseconds?: number | undefined;
}): Promise<HostTable> {
  const { db, bus, log, ownHosts, gatewayDomain, maxAgeMilliseconds = MAX_AGE_MILLISECONDS } = options;
  const withoutOwnHosts = createOwnHostsFilter(ownHosts, log);
  const suffix = gatewayDomain === undefined ? undefined : `.${gatewayDomain}`;
  const versions: (string | null)[] = Array(BUCKETS).fill(null);
  const hostsOf: string[][] = versions.map(() => []);
  const projects = new Map<string, string>();
  const tokens = new Map<string, string>();
  await load();

  async function load(): Promise<void> {
    const { rows } = await runStatement<Bucket>(db.pool, CHANGED_BUCKETS(gatewayDomain ?? null, versions));
    for (const { bucket, version, hosts } of rows) {
      for (const host of hostsOf[bucket]!) {
        projects.delete(host);
        tokens.delete(host);
      }
      const kept = withoutOwnHosts(hosts);
      for (const { host, projectId, token } of kept) {
        projects.set(host, projectId);
        if (token !== null) tokens.set(host, token);
      }
      hostsOf[bucket] = kept.map(({ host }) => host);
      versions[bucket] = version;
    }
  }

  // Refreshes run one after the other, so an older result never replaces a newer one. One that hasn't started yet also
  // covers the hints that arrive in the meantime.
  let refreshing: Promise<void> = Promise.resolve();
  let isWaiting = false;
  function refresh(): void {
    if (isWaiting) return;
    isWaiting = true;
    refreshing = refreshing
      .then(async () => {
        isWaiting = false;
        await load();
      })
      .catch((error) => log.warn({ err: error }, "couldn't read gateway hosts; will retry"));
  }
  const unsubscribe = bus.subscribe(topics.gatewayHosts, refresh);
  const timer = setInterval(refresh, maxAgeMilliseconds).unref();

  return {
    projectOfHost(host) {
      if (projects.size === 0 && suffix === undefined) return undefined;
      const name = hostNameOf(host);
      return projects.get(name) ?? (suffix !== undefined && name.endsWith(suffix) ? NOBODY : undefined);
    },
    challengeOf(host, path) {
      if (!path.startsWith(CHALLENGE_PREFIX)) return undefined;
      const name = hostNameOf(host);
      const token = projects.has(name) ? tokens.get(name) : undefined;
      return token !== undefined && challengePathOf(token) === path ? token : undefined;
    },
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}

/**
 * The buckets whose versions aren't those in $2, with their hosts: custom hosts with the tokens that verify them and, if
 * the operator has a domain ($1), all names under it.
 */
const CHANGED_BUCKETS = preparedStatement(
  'gateway-hosts',
  `
  WITH named AS (
    SELECT lower(p."gatewayHost") AS "host", p."id" AS "projectId", c."token", true AS "isCustom"
    FROM "Project" p LEFT JOIN "HostClaim" c ON c."projectId" = p."id" AND c."host" = p."gatewayHost"
    WHERE p."gatewayHost" IS NOT NULL
    UNION ALL
    SELECT "slug" || '.' || $1::text, "id", NULL, false FROM "Project" WHERE "slug" IS NOT NULL AND $1::text IS NOT NULL
  ), hashed AS (
    SELECT named.*, hashtext("host") & ${BUCKETS - 1} AS "bucket", hashtextextended(named::text, 0) AS "hash" FROM named
  ), version AS (
    SELECT "bucket", sum("hash")::text AS "version" FROM hashed GROUP BY "bucket"
  ), changed AS (
    SELECT known."bucket" - 1 AS "bucket", version."version"
    FROM unnest($2::text[]) WITH ORDINALITY AS known ("version", "bucket")
    LEFT JOIN version ON version."bucket" = known."bucket" - 1
    WHERE version."version" IS DISTINCT FROM known."version"
  )
  SELECT changed."bucket"::int AS "bucket", changed."version",
    coalesce(jsonb_agg(to_jsonb(hashed) - 'hash' - 'bucket' ORDER BY "isCustom" DESC) FILTER (WHERE "host" IS NOT NULL), '[]')
      AS "hosts"
  FROM changed LEFT JOIN hashed ON hashed."bucket" = changed."bucket" GROUP BY changed."bucket", changed."version"`,
);
