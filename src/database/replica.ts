import { PrismaPg } from '@prisma/adapter-pg';
import type { Logger } from 'pino';
import { type Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { type AccountTurns, beforeTimeIsUp, inTurnOf } from '../operation.ts';
import { applySettings, type Database, openPool, type Queryable } from './client.ts';
import { IDENTITY } from './identity.ts';
import { SESSION_SETTINGS } from './session-settings.ts';

/** Where statistics are read: the primary server, or a replica that may be a few seconds behind it. */
export type StatisticsSource = {
  $queryRaw<T>(query: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<T>;
  /** Runs statements whose text never changes. */
  $queryRawUnsafe<T>(statement: string, ...values: unknown[]): Promise<T>;
};

/** How far statistics may lag behind the primary server. */
export const MAX_LAG_MILLISECONDS = 10_000;
const MEASURE_EVERY_MILLISECONDS = 1_000;
/** A replica that doesn't respond must not hold up requests. */
const PROBE_TIMEOUT_MILLISECONDS = 2_000;
/** If a response takes longer than this, the connection is closed. Every statement must finish sooner. */
const ANSWER_TIMEOUT_MILLISECONDS = 20_000;
const REPLICA_POOL_SIZE = 4;
/** A quarter of the connections, because everyone else has to share the rest. */
export const REPLICA_CONNECTIONS_PER_ACCOUNT = Math.max(1, Math.floor(REPLICA_POOL_SIZE / 4));

/** A moment on this process's monotonic clock, and how much the primary server had written by then. */
type Mark = { at: number; written: bigint };

/**
 * Opens a replica for statistics. While it is unreachable, further behind than `MAX_LAG_MILLISECONDS`, or not a standby
 * of this database, statistics are read from the primary server. If a read on the replica fails, it is repeated on the
 * primary server.
 */
export function openReplica(options: {
  db: Database;
  url: string;
  log: Logger;
  /** Decides when an account may use a connection to the replica. */
  turns: AccountTurns;
  probeTimeoutMilliseconds?: number;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
}) {
  const { db, url, log, turns } = options;
  const { probeTimeoutMilliseconds = PROBE_TIMEOUT_MILLISECONDS, now = () => performance.now() } = options;
  const shared = { url, log, applicationName: 'tollgate-statistics', onConnect: applySettings(SESSION_SETTINGS) };
  const pool = openPool({ ...shared, poolSize: REPLICA_POOL_SIZE, query_timeout: ANSWER_TIMEOUT_MILLISECONDS });
  // Measurements use their own connection, so that a busy replica isn't mistaken for one that is down.
  const probe = openPool({
    ...{ ...shared, poolSize: 1 },
    ...{ connectionTimeoutMillis: probeTimeoutMilliseconds, query_timeout: probeTimeoutMilliseconds },
  });
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  let marks: Mark[] = [];
  /** The replica has everything that was committed before this moment. */
  let freshAt = Number.NEGATIVE_INFINITY;
  let problem: string | undefined;
  let timer: NodeJS.Timeout;
  let measuring = measureAgain();

  async function measureAgain(): Promise<void> {
    await measure().then(
      () => report(isFresh() ? undefined : 'it is too far behind'),
      (error: Error) => distrust(error),
    );
    timer = setTimeout(() => {
      measuring = measureAgain();
    }, MEASURE_EVERY_MILLISECONDS).unref();
  }

  /**
   * Compares positions in the write-ahead log. Times can't distinguish a replica that has lost its connection from one
   * whose primary server is idle.
   */
  async function measure(): Promise<void> {
    const at = now();
    const primary = await readPrimary(db.pool);
    marks = [...marks.filter((mark) => at - mark.at <= MAX_LAG_MILLISECONDS), { at, written: primary.written }];
    const { identity, isStandby, replayed } = await readStandby(probe);
    if (identity !== primary.identity || !isStandby) throw new Error('it is not a standby of this database');
    const included = marks.filter(({ written }) => written <= replayed);
    freshAt = included.at(-1)?.at ?? freshAt;
  }

  const isFresh = () => now() - freshAt <= MAX_LAG_MILLISECONDS;

  /** Uses the replica again only after the next successful measurement. */
  function distrust({ message }: Error): void {
    freshAt = Number.NEGATIVE_INFINITY;
    report(message);
  }

  function report(found: string | undefined): void {
    if (found && !problem) log.warn({ reason: found }, 'statistics are read from the primary server, not the replica');
    if (!found && problem) log.info('statistics are read from the replica again');
    problem = found;
  }

  async function read<T>(run: (source: PrismaClient) => Promise<T>): Promise<T> {
    if (isFresh()) {
      try {
        return await inTurnOf(turns, () => run(prisma));
      } catch (error) {
        log.debug({ err: error }, 'the replica failed to return statistics');
      }
    }
    // Not retried after the deadline: a read that takes too long on the replica must not run on the primary server too.
    return beforeTimeIsUp(() => run(db.prisma));
  }

  return {
    pool,
    $queryRaw<T>(query: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<T> {
      return read((source) => source.$queryRaw<T>(query, ...values));
    },
    $queryRawUnsafe<T>(statement: string, ...values: unknown[]): Promise<T> {
      return read((source) => source.$queryRawUnsafe<T>(statement, ...values));
    },
    async close(): Promise<void> {
      await measuring;
      clearTimeout(timer);
      await prisma.$disconnect();
      await Promise.all([pool.end(), probe.end()]);
    },
  };
}

/** The primary server's identity, and its position in the write-ahead log in bytes. */
export async function readPrimary(db: Queryable): Promise<{ identity: string; written: bigint }> {
  const { rows } = await db.query<{ identity: string; written: string }>(
    `SELECT ${IDENTITY} AS "identity", (pg_current_wal_lsn() - '0/0')::text AS "written"`,
  );
  return { identity: rows[0]!.identity, written: BigInt(rows[0]!.written) };
}

/** A server's identity, and the position up to which it has replayed the log. */
export async function readStandby(db: Queryable): Promise<{ identity: string; isStandby: boolean; replayed: bigint }> {
  const { rows } = await db.query<{ identity: string; isStandby: boolean; replayed: string }>(
    `SELECT ${IDENTITY} AS "identity", pg_is_in_recovery() AS "isStandby",
      coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::text AS "replayed"`,
  );
  return { ...rows[0]!, replayed: BigInt(rows[0]!.replayed) };
}
