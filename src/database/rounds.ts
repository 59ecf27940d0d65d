import type pg from 'pg';
import { runStatement, statement } from './statement.ts';

const CLAIM_ROUND = statement(
  'sweep-claim-round',
  `INSERT INTO "Sweep" ("name") VALUES ($1)
   ON CONFLICT ("name") DO UPDATE SET "startedAt" = statement_timestamp()
     WHERE "Sweep"."startedAt" <= statement_timestamp() - make_interval(secs => $2)`,
);

/**
 * Claims a round of periodic work that only one process does at a time.
 *
 * @returns whether a period has passed since any process last started a round with this name.
 */
export async function claimRound(pool: pg.Pool, name: string, periodSeconds: number): Promise<boolean> {
  const { rowCount } = await runStatement(pool, CLAIM_ROUND(name, periodSeconds));
  return rowCount === 1;
}
