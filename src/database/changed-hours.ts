import { ADVISORY_LOCKS } from './advisory-locks.ts';
import type { Queryable } from './client.ts';
import { runStatement, statement, statementFor } from './statement.ts';

const LOCK = statement('delivery-stats-lock', 'SELECT pg_advisory_xact_lock($1)');

/**
 * Records the hours when a partition's deliveries finished, because no triggers run when a partition is dropped. Call
 * this in the transaction that drops the partition. Until that transaction ends, no deliveries are added to the
 * rollups, not even those that finish in the meantime. Uses an index to skip from hour to hour, so it reads only one
 * delivery per hour.
 */
export async function noteDroppedHours(client: Queryable, partition: string): Promise<void> {
  await runStatement(client, LOCK(ADVISORY_LOCKS.deliveryRollups));
  await runStatement(client, NOTE_HOURS(partition)());
}

/** Deletes from one partition and records the hours, because the partitioned table's triggers don't run for it. */
export const notingHours = (deletion: string) => `
  WITH deleted AS (${deletion} RETURNING "projectId", "updatedAt", "outcome")
  INSERT INTO "ChangedDeliveryHour" ("projectId", "hour")
  SELECT DISTINCT "projectId", date_trunc('hour', "updatedAt", 'UTC') FROM deleted WHERE "outcome" IS NOT NULL`;

const FIRST = 'ORDER BY "projectId", "updatedAt" LIMIT 1';
const NOTE_HOURS = statementFor('delivery-stats-note-hours', 'Delivery_default', (partition) => {
  const hour = `"projectId", date_trunc('hour', "updatedAt", 'UTC') AS "hour" FROM "${partition}"`;
  return `
    WITH RECURSIVE found AS (
      (SELECT ${hour} ${FIRST})
      UNION ALL
      SELECT next.* FROM found CROSS JOIN LATERAL (
        SELECT ${hour} WHERE ("projectId", "updatedAt") >= (found."projectId", found."hour" + interval '1 hour') ${FIRST}
      ) AS next
    )
    INSERT INTO "ChangedDeliveryHour" ("projectId", "hour") SELECT "projectId", "hour" FROM found`;
});
