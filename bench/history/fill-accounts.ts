import type pg from 'pg';

/** Enough accounts that a statement that reads all of them stands out. */
const IDLE_ACCOUNTS = 20_000;
/** One in this many idle accounts has a webhook that fails. */
const ACCOUNTS_PER_FAILURE = 1_000;

/** Creates accounts in which nothing happens, each with a project, a webhook, and a connector. Needs the function `bench_id`. */
export async function fillAccounts(pool: pg.Pool, from: number): Promise<void> {
  const numbered = `FROM generate_series(1, ${IDLE_ACCOUNTS}) AS number`;
  const id = (prefix: string) => `bench_id('${prefix}', $1::bigint, number)`;
  await pool.query(
    `INSERT INTO "User" ("id", "issuer", "subject") SELECT ${id('usr')}, 'https://issuer.example/', number::text ${numbered}`,
    [from],
  );
  await pool.query('ANALYZE "User"');
  await pool.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress")
     SELECT ${id('proj')}, ${id('usr')}, 'Idle', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' ${numbered}`,
    [from],
  );
  // Each of the following rows looks up its project, and PostgreSQL still believes that there are only a few.
  await pool.query('ANALYZE "Project"');
  await pool.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret", "failingSince")
     SELECT ${id('wh')}, ${id('proj')}, 'https://idle.example/', '{*}', '',
       CASE WHEN number % ${ACCOUNTS_PER_FAILURE} = 0 THEN now() END ${numbered}`,
    [from],
  );
  await pool.query(
    `INSERT INTO "Connector" ("id", "projectId", "type", "config", "secretConfig", "eventTypes")
     SELECT ${id('con')}, ${id('proj')}, 'slack', '{}', '', '{*}' ${numbered}`,
    [from],
  );
}
