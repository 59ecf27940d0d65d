import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Logger } from 'pino';
import { type Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { enforceDeadlines } from './changes.ts';
import { forgetNames, requireSameDatabase, requireSessionDefaults } from './pooler.ts';
import { SESSION_SETTINGS, setForSession } from './session-settings.ts';
import { replaceStaleConnections } from './stale-plans.ts';
import { boundedStatementNames } from './statement-names.ts';

export type Database = {
  /** Frequent statements use the pool directly. Prisma uses the same connections. */
  pool: pg.Pool;
  prisma: PrismaClient;
  /** Points to the PostgreSQL server itself, not to a pooler, for work that needs its own session. */
  directUrl: string;
  close(): Promise<void>;
};

/** Where to send statements: the pool, or one of its clients. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** The client that `prisma.$transaction(async (tx) => …)` passes to its callback. */
export type Transaction = Prisma.TransactionClient;

export type OpenDatabaseOptions = {
  url: string;
  /**
   * Points to the PostgreSQL server itself. If this differs from `url`, `url` points to a pooler in transaction mode.
   */
  directUrl?: string | undefined;
  /** The maximum number of connections from this process. */
  poolSize: number;
  log: Logger;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
};

// Planning a statement over all partitions takes as long as running it, so each is planned once per connection. Plans
// use indexes no matter what the statistics say, because a plan may have been made while a partition was still empty.
//
// Deleting a project locks its rows until the deletion is done. The queue retries instead of waiting for that. The
// timeout is shorter than `deadlock_timeout`: if the queue and a deletion wait for each other, the queue backs off.
/** For statements that never change. They are planned once, use indexes, and don't wait long for a lock. */
export const QUEUE_SETTINGS = {
  ...SESSION_SETTINGS,
  lock_timeout: '500ms',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
};
/**
 * If a response takes longer than this, the connection is closed, because the server may have lost power, which the
 * network reports only after 15 minutes. Every statement must finish sooner.
 */
const QUEUE_RESPONSE_TIMEOUT_MILLISECONDS = 20_000;
/** For the worker: one connection to claim, one to record, one to extend leases, and one spare. */
export const QUEUE_POOL_SIZE = 4;
const CONNECT_TIMEOUT_MILLISECONDS = 10_000;
const IDLE_CONNECTION_MILLISECONDS = 60_000;
const TRANSACTION_MAX_WAIT_MILLISECONDS = 5_000;
const TRANSACTION_TIMEOUT_MILLISECONDS = 10_000;

/**
 * Opens the database: a pool, and Prisma on top of it. Connects once, so an invalid URL fails here and not on the first
 * request.
 *
 * @throws the driver's error if the server can't be reached or rejects the credentials
 * @throws PoolerSettingsError if `url` points to a pooler for another database, or its sessions lack our settings
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const { url, directUrl = url, poolSize, log, applicationName = 'tollgate' } = options;
  const isPooled = directUrl !== url;
  const onConnect = isPooled ? forgetNames : applySettings(SESSION_SETTINGS);
  const pool = openPool({ url, poolSize, log, applicationName, onConnect });

  const adapter = new PrismaPg(pool, { statementNameGenerator: boundedStatementNames() });
  const prisma = new PrismaClient({
    adapter,
    transactionOptions: { maxWait: TRANSACTION_MAX_WAIT_MILLISECONDS, timeout: TRANSACTION_TIMEOUT_MILLISECONDS },
  });
  enforceDeadlines(pool, prisma);

  let closing: Promise<void> | undefined;
  const close = async () => {
    await prisma.$disconnect();
    await pool.end();
  };

  try {
    await pool.query('SELECT 1');
    if (isPooled) {
      await requireSameDatabase(pool, directUrl, applicationName);
      await requireSessionDefaults(pool);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    pool,
    prisma,
    directUrl,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * Opens connections for the queue, which runs a few fixed statements all the time. Their settings require dedicated
 * sessions.
 */
export function openQueuePool(options: {
  /** Points to the PostgreSQL server itself, not to a pooler. */
  url: string;
  log: Logger;
  responseTimeoutMilliseconds?: number;
}): pg.Pool {
  const { url, log, responseTimeoutMilliseconds = QUEUE_RESPONSE_TIMEOUT_MILLISECONDS } = options;
  return openPool({
    url,
    poolSize: QUEUE_POOL_SIZE,
    log,
    applicationName: 'tollgate-queue',
    onConnect: applySettings(QUEUE_SETTINGS),
    query_timeout: responseTimeoutMilliseconds,
  });
}

type PoolOptions = Pick<pg.PoolConfig, 'query_timeout' | 'connectionTimeoutMillis' | 'pipeline'> & {
  url: string;
  poolSize: number;
  log: Logger;
  applicationName: string;
  /** Prepares a new connection. */
  onConnect: (client: pg.ClientBase) => void | Promise<void>;
};

export function openPool({ url, poolSize, log, applicationName, onConnect, ...options }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: CONNECT_TIMEOUT_MILLISECONDS,
    ...options,
    connectionString: url,
    max: poolSize,
    application_name: applicationName,
    idleTimeoutMillis: IDLE_CONNECTION_MILLISECONDS,
    keepAlive: true,
    onConnect,
  });
  surviveLostConnections(pool, log);
  replaceStaleConnections(pool);
  return pool;
}

/**
 * Applies settings to a new connection with a statement instead of connection parameters, because poolers in session
 * mode reject parameters or silently drop them.
 */
export function applySettings(settings: Readonly<Record<string, string>>): (client: pg.ClientBase) => Promise<void> {
  const statement = setForSession(settings);
  return async (client) => void (await client.query(statement));
}

/**
 * Without listeners, a connection closed by the server would crash the process. Idle connections report errors to the
 * pool. Connections in use (a transaction between two statements) report errors only to their own listeners, and their
 * next statement fails.
 */
function surviveLostConnections(pool: pg.Pool, log: Logger): void {
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', ({ message, code }: Error & { code?: string }) =>
    // The error itself also has the whole client, with its statements and the key that cancels them.
    log.warn({ err: { message, code } }, 'lost a database connection'),
  );
}
