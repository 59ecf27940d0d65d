import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withConnection } from '../../src/database/connection.ts';

/** PostgreSQL's functions for the current time. */
const FUNCTIONS = {
  now: 'STABLE',
  statement_timestamp: 'STABLE',
  transaction_timestamp: 'STABLE',
  clock_timestamp: 'VOLATILE',
};
const PRELOADED = pathToFileURL(join(import.meta.dirname, 'moved-clock.ts')).href;

export type Clock = Awaited<ReturnType<typeof openClock>>;

/**
 * A wall clock for PostgreSQL and the service's processes that can be moved while they run. Timers and durations aren't
 * affected. In the database, functions in the schema `public` hide PostgreSQL's own functions. The clock must be opened
 * before the tables are created, because column defaults keep using the functions that they were created with.
 *
 * @param databaseUrl a superuser's connection URL
 */
export async function openClock(folder: string, databaseUrl: string) {
  const file = join(folder, 'clock');
  let aheadSeconds = 0;

  // Uses a new connection, because role settings apply only to new connections.
  async function run(...statements: string[]): Promise<void> {
    await withConnection(databaseUrl, 'soak', async (client) => {
      for (const statement of statements) await client.query(statement);
    });
  }

  async function set(): Promise<void> {
    await run(
      // A custom setting can be stored only if the session already knows it.
      `SET soak.ahead_seconds = ${aheadSeconds}`,
      `ALTER SYSTEM SET soak.ahead_seconds = ${aheadSeconds}`,
      'SELECT pg_reload_conf()',
    );
    await writeFile(file, String(aheadSeconds));
  }

  await set();
  await run(
    ...Object.entries(FUNCTIONS).map(
      ([name, volatility]) => `
        CREATE FUNCTION public.${name}() RETURNS timestamptz LANGUAGE sql ${volatility} PARALLEL SAFE AS $$
          SELECT pg_catalog.${name}() OPERATOR(pg_catalog.+) pg_catalog.make_interval(
            secs => pg_catalog.current_setting('soak.ahead_seconds')::float8)
        $$`,
    ),
    'ALTER ROLE CURRENT_USER SET search_path = public, pg_catalog',
  );
  return {
    /** The environment of a process that follows this clock. */
    env: { CLOCK_FILE: file, NODE_OPTIONS: `--import=${PRELOADED}` },
    /** Moves the clock forward. Processes notice within a second. */
    async move(seconds: number): Promise<void> {
      aheadSeconds += seconds;
      await set();
    },
  };
}
