import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';

/** How many webhooks or connectors have a given problem. */
export type DestinationCount = {
  kind: 'webhook' | 'connector';
  state: 'failing' | 'paused' | 'disabled';
  count: number;
};

const countsOf = (kind: DestinationCount['kind'], table: string) => `
  SELECT '${kind}' AS "kind", state AS "state", count
  FROM (
    SELECT count(*) FILTER (WHERE "isActive" AND "failingSince" IS NOT NULL)::int AS failing,
           count(*) FILTER (WHERE "isActive" AND "pausedReason" IS NOT NULL)::int AS paused,
           count(*) FILTER (WHERE "disabledReason" IS NOT NULL)::int AS disabled
    FROM ${table}
  ) AS c, LATERAL (VALUES ('failing', failing), ('paused', paused), ('disabled', disabled)) AS counted(state, count)`;

/** Counts the destinations that need attention, except those that the seller paused or disabled. */
export async function readDestinationCounts(db: Queryable): Promise<DestinationCount[]> {
  return (await runStatement(db, COUNT())).rows as DestinationCount[];
}

const COUNT = statement(
  'destinations-count-problems',
  `${countsOf('webhook', '"Webhook"')} UNION ALL ${countsOf('connector', '"Connector"')}`,
);
