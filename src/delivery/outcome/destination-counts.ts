import type { Queryable } from '../../database/client.ts';

/** How many webhooks or connectors have a given problem. */
export type DestinationCount = {
  kind: 'webhook' | 'connector';
  state: 'failing' | 'paused' | 'disabled';
  count: number;
};

/** Counts the destinations that need attention, except those that the seller disabled. */
export async function readDestinationCounts(db: Queryable): Promise<DestinationCount[]> {
  const { rows } = await db.query<DestinationCount>(
    `SELECT 'webhook' AS "kind", state AS "state", count
     FROM (
       SELECT count(*) FILTER (WHERE "isActive" AND "failingSince" IS NOT NULL)::int AS failing,
              count(*) FILTER (WHERE "disabledReason" IS NOT NULL)::int AS disabled
       FROM "Webhook"
     ) AS w, LATERAL (VALUES ('failing', failing), ('disabled', disabled)) AS counted(state, count)
     UNION ALL
     SELECT 'connector', state, count
     FROM (
       SELECT count(*) FILTER (WHERE "isActive" AND "failingSince" IS NOT NULL)::int AS failing,
              count(*) FILTER (WHERE "isActive" AND "pausedAt" IS NOT NULL)::int AS paused,
              count(*) FILTER (WHERE "disabledReason" IS NOT NULL)::int AS disabled
       FROM "Connector"
     ) AS c, LATERAL (VALUES ('failing', failing), ('paused', paused), ('disabled', disabled)) AS counted(state, count)`,
  );
  return rows;
}
