import { z } from 'zod';

/**
 * The parameters that a database URL may have: TLS, and a host and port that a URL can't express, such as the folder of a
 * Unix socket. `pg` reads them; see https://node-postgres.com/features/ssl.
 */
const HONORED: ReadonlySet<string> = new Set([
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat', 'ssl'],
  ...['host', 'port'],
]);

const SCHEMA = 'Tollgate uses the schema `public`. Give it its own database';
const POOL = 'Set DATABASE_POOL_SIZE, and DATABASE_DIRECT_URL if the URL points to PgBouncer in transaction mode';
const TIMEOUT = 'Tollgate sets its own timeouts';

/** What to do instead, for parameters that other programs read. */
const INSTEAD: Readonly<Record<string, string>> = {
  schema: SCHEMA,
  currentSchema: SCHEMA,
  search_path: SCHEMA,
  options: 'Tollgate changes settings itself, and uses the schema `public`',
  pgbouncer: POOL,
  connection_limit: POOL,
  pool_timeout: POOL,
  statement_cache_size: POOL,
  connect_timeout: TIMEOUT,
  socket_timeout: TIMEOUT,
  statement_timeout: TIMEOUT,
  lock_timeout: TIMEOUT,
  query_timeout: TIMEOUT,
  idle_in_transaction_session_timeout: TIMEOUT,
  application_name: 'Tollgate names its connections itself',
  target_session_attrs: 'Use a URL that always points to the primary server',
  channel_binding: 'Use sslmode=verify-full, which also ensures that no other machine can pose as the server',
};

/**
 * A database's URL. Each parameter is either honored or refused by name: one that is ignored could put the tables into
 * a different schema than the operator expects.
 */
export const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
  .superRefine((text, context) => {
    if (!URL.canParse(text)) return;
    for (const name of new Set(new URL(text).searchParams.keys())) {
      if (HONORED.has(name)) continue;
      const instead = Object.hasOwn(INSTEAD, name) ? `${INSTEAD[name]}, and remove the parameter.` : 'Remove it.';
      context.addIssue({ code: 'custom', message: `the parameter ${name} isn't supported. ${instead}` });
    }
  })
  .optional();
