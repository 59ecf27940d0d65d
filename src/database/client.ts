import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Logger } from 'pino';
import { type Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { heedDeadlines } from './changes.ts';

export type Database = {
  /** The one pool. Hot statements go to it directly; Prisma uses the same connections. */
  pool: pg.Pool;
  prisma: PrismaClient;
  url: string;
  close(): Promise<void>;
};

/** Where statements are sent: the pool, or a client of it. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** What `prisma.$transaction(async (tx) => …)` hands to its callback. */
export type Transaction = Prisma.TransactionClient;

export type OpenDatabaseOptions = {
  url: string;
  /** The most connections this process opens. */
  poolSize: number;
  log: Logger;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
};

// A session that outlives these has lost its caller: requests are answered or given up within 15 s.
const STATEMENT_TIMEOUT_MILLISECONDS = 15_000;
const LOCK_TIMEOUT_MILLISECONDS = 10_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MILLISECONDS = 15_000;
// Statements and not parameters of the connection: poolers refuse those, or drop them, which nobody would notice. Prisma's
// adapter reads and writes times without their offset, so the session has to be in UTC.
const SESSION_SETTINGS = `SET TimeZone = 'UTC'; SET statement_timeout = ${STATEMENT_TIMEOUT_MILLISECONDS};
  SET lock_timeout = ${LOCK_TIMEOUT_MILLISECONDS};
  SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MILLISECONDS}`;
// Planning a statement over all partitions takes as long as running it, so each is planned once a connection, and by
// index whatever the statistics say: a plan is kept while a partition that was empty when it was made grows.
//
// A deletion keeps the rows of a project locked for as long as it takes. The queue does not wait for it, and asks again.
// Shorter than `deadlock_timeout`: where the two wait for each other, it is the queue that gives way.
const QUEUE_LOCK_TIMEOUT_MILLISECONDS = 500;
const QUEUE_SETTINGS = `${SESSION_SETTINGS}; SET lock_timeout = ${QUEUE_LOCK_TIMEOUT_MILLISECONDS};
  SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off`;
/**
 * A connection over which no answer comes for so long is given up: its server may have lost its power, which the network
 * tells after a quarter of an hour. Longer than any statement may last.
 */
const QUEUE_ANSWER_TIMEOUT_MILLISECONDS = 20_000;
/** For the worker: one claims, one records, one keeps up leases, and one to spare. */
export const QUEUE_POOL_SIZE = 4;
const CONNECT_TIMEOUT_MILLISECONDS = 10_000;
const IDLE_CONNECTION_MILLISECONDS = 60_000;
const TRANSACTION_MAX_WAIT_MILLISECONDS = 5_000;
const TRANSACTION_TIMEOUT_MILLISECONDS = 10_000;
const MAX_STATEMENT_NAMES = 500;

/**
 * Opens the database: one pool, and Prisma on top of it. Connects once, so that a wrong URL fails here and not at the
 * first request.
 *
 * @throws the driver's error when the server cannot be reached or refuses the credentials
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

/** Opens connections for the statements of the queue, which are few, fixed, and sent all the time. */
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
 * Without listeners a connection that the server ends would end the process too. Idle connections report to the pool,
 * those in use (a transaction between two statements) only on themselves; the next statement fails and tells the caller.
 */
function surviveLostConnections(pool: pg.Pool, log: Logger): void {
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', (error) => log.warn({ error: error.message }, 'a database connection was lost'));
}

/** Reads of tables that are partitioned. Which index answers one, and from how few partitions, depends on its values. */
const READS_HISTORY = /^SELECT .* FROM "public"\."(Event|Delivery|Attempt)"/s;

/**
 * Names Prisma's statements, so that the server plans each of them once a connection, but for those that it had better
 * plan for their values. Bounded, because a statement's
 * text varies with the length of its lists and every name takes memory on every connection; `''` means unnamed.
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
