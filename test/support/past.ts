import pg from 'pg';

export type Past = {
  /** Connections whose `now()` and oldest open transaction are set with `moveTo`. */
  pool: pg.Pool;
  moveTo(time: number, openSince?: number | null): Promise<void>;
  close(): Promise<void>;
};

/** Opens connections with a clock of their own, the table `past.clock`. Triggers use the real clock. */
export async function openPast(url: string): Promise<Past> {
  const pool = new pg.Pool({
    connectionString: url,
    onConnect: async (client) => void (await client.query('SET search_path = past, pg_catalog, public')),
  });
  await pool.query(`
    CREATE SCHEMA past;
    CREATE TABLE past.clock ("now" timestamptz, "openSince" timestamptz);
    INSERT INTO past.clock VALUES (now(), NULL);
    CREATE FUNCTION past.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT "now" FROM past.clock';
    CREATE VIEW past.pg_stat_activity AS SELECT datname, backend_type, application_name, pid, "openSince" AS xact_start
      FROM pg_catalog.pg_stat_activity, past.clock`);
  return {
    pool,
    async moveTo(time, openSince = null) {
      await pool.query('UPDATE past.clock SET "now" = $1, "openSince" = $2', [
        new Date(time),
        openSince === null ? null : new Date(openSince),
      ]);
    },
    close: () => pool.end(),
  };
}
