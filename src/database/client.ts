import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Logger } from 'pino';
import { type Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { heedDeadlines } from './changes.ts';

export type Database = {
  /** Frequent statements use the pool directly, and Prisma uses its connections too. */
  pool: pg.Pool;
  prisma: PrismaClient;
  url: string;
  close(): Promise<void>;
};

/** Where to send statements: the pool, or one of its clients. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** What `prisma.$transaction(async (tx) => …)` passes to its callback. */
export type Transaction = Prisma.TransactionClient;

export type OpenDatabaseOptions = {
  url: string;
  /** The maximum number of connections from this process. */
  poolSize: number;
  log: Logger;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
};

// A session that exceeds these no longer has a caller, because requests end within 15 s.
const STATEMENT_TIMEOUT_MILLISECONDS = 15_000;
const LOCK_TIMEOUT_MILLISECONDS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MILLISECONDS = 15_000;
// Statements instead of connection parameters, because poolers reject parameters or silently drop them. Prisma's
// adapter reads and writes times without their offset, so the session must use UTC.
const SESSION_SETTINGS = `SET TimeZone = 'UTC'; SET statement_timeout = ${STATEMENT_TIMEOUT_MILLISECONDS};
  SET lock_timeout = ${LOCK_TIMEOUT_MILLISECONDS};
  SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MILLISECONDS}`;
// Planning a statement over all partitions takes as long as running it, so each is planned once per connection. Plans
// use indexes no matter what the statistics say, because a plan may have been made while a partition was still empty.
//
// Deleting a project locks its rows until the deletion is done. The queue retries instead of waiting for that. The
// timeout is shorter than `deadlock_timeout`: if the two wait for each other, the queue gives way.
const QUEUE_LOCK_TIMEOUT_MILLISECONDS = 500;
const QUEUE_SETTINGS = `${SESSION_SETTINGS}; SET lock_timeout = ${QUEUE_LOCK_TIMEOUT_MILLISECONDS};
  SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off`;
/**
 * A connection without a response for this long is closed, because its server may have lost power, which the network
 * reports only after 15 minutes. This is longer than any statement may take.
 */
const QUEUE_ANSWER_TIMEOUT_MILLISECONDS = 20_000;
/** For the worker: one connection to claim, one to record, one to extend leases, and one spare. */
const QUEUE_POOL_SIZE = 4;
const CONNECT_TIMEOUT_MILLISECONDS = 10_000;
const IDLE_CONNECTION_MILLISECONDS = 60_000;
const TRANSACTION_MAX_WAIT_MILLISECONDS = 5_000;
const TRANSACTION_TIMEOUT_MILLISECONDS = 10_000;
const MAX_STATEMENT_NAMES = 500;

/**
 * Opens the database: a pool, and Prisma on top of it. Connects once, so an invalid URL fails here and not on the first
 * request.
 *
 * @throws the driver's error if the server can't be reached or rejects the credentials
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const { url, poolSize, log, applicationName = 'tollgate' } = options;
  const pool = openPool({ url, poolSize, log, applicationName }, SESSION_SETTINGS);

  const adapter = new PrismaPg(pool, { statementNameGenerator: boundedStatementNames() });
  const prisma = new PrismaClient({
    adapter,
    transactionOptions: { maxWait: TRANSACTION_MAX_WAIT_MILLISECONDS, timeout: TRANSACTION_TIMEOUT_MILLISECONDS },
  });
  heedDeadlines(pool, prisma);

  let closing: Promise<void> | undefined;
  const close = async () => {
    await prisma.$disconnect();
    await pool.end();
  };

  try {
    await pool.query('SELECT 1');
  } catch (error) {
    await close();
    throw error;
  }
  return {
    pool,
    prisma,
    url,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Opens connections for the queue, which runs a few fixed statements all the time. */
export function openQueuePool({
  url,
  log,
  answerTimeoutMilliseconds = QUEUE_ANSWER_TIMEOUT_MILLISECONDS,
}: Pick<OpenDatabaseOptions, 'url' | 'log'> & { answerTimeoutMilliseconds?: number }): pg.Pool {
  const options = { url, poolSize: QUEUE_POOL_SIZE, log, applicationName: 'tollgate-queue' };
  return openPool(options, QUEUE_SETTINGS, { query_timeout: answerTimeoutMilliseconds });
}

function openPool(
  { url, poolSize, log, applicationName }: Required<OpenDatabaseOptions>,
  settings: string,
  timeouts: Pick<pg.PoolConfig, 'query_timeout'> = {},
): pg.Pool {
  const pool = new pg.Pool({
    ...timeouts,
    connectionString: url,
    max: poolSize,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MILLISECONDS,
    idleTimeoutMillis: IDLE_CONNECTION_MILLISECONDS,
    keepAlive: true,
    onConnect: async (client) => void (await client.query(settings)),
  });
  surviveLostConnections(pool, log);
  return pool;
}

/**
 * Without listeners, a connection closed by the server would end the process. Idle connections report errors to the
 * pool. Connections in use (a transaction between two statements) report errors only to their own listeners, and their
 * next statement fails.
 */
function surviveLostConnections(pool: pg.Pool, log: Logger): void {
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', (error) => log.warn({ error: error.message }, 'lost a database connection'));
}

/** Reads from partitioned tables. The best index, and the partitions that can be skipped, depend on the values. */
const READS_HISTORY = /^SELECT .* FROM "public"\."(Event|Delivery|Attempt)"/s;

/**
 * Names Prisma's statements so that the server plans each of them once per connection, except those that need a plan
 * based on the values. The number of names is limited, because a statement's text varies with the length of its lists,
 * and every name takes up memory on every connection. `''` means unnamed.
 */
function boundedStatementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_STATEMENT_NAMES || READS_HISTORY.test(sql)) return '';
    const name = `prisma_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`;
    names.set(sql, name);
    return name;
  };
}
