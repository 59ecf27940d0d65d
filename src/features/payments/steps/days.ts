/**
 * CTEs that add entries (`projectId`, `day`, `endpointId`, and the amounts to add) to the totals of their endpoints'
 * UTC days. A day's first entry queues the daily summary, unless the project's days aren't in UTC: a trigger then skips the
 * queue.
 *
 * @param entries the name of the CTE with the entries, at most one for each day and endpoint
 */
export function enterDays(entries: string): string {
  return `day AS (
    INSERT INTO "RevenueDay" AS r ("projectId", "day", "endpointId", "totalAtomic", "paymentCount", "failedCount")
    SELECT "projectId", "day", "endpointId", "totalAtomic", "paymentCount", "failedCount" FROM ${entries}
    ORDER BY "projectId", "day", "endpointId"
    ON CONFLICT ("projectId", "day", "endpointId") DO UPDATE SET
      "totalAtomic" = r."totalAtomic" + excluded."totalAtomic",
      "paymentCount" = r."paymentCount" + excluded."paymentCount",
      "failedCount" = r."failedCount" + excluded."failedCount"
    RETURNING "projectId", "day"
  ), summary AS (
    INSERT INTO "DailySummary" ("projectId", "day") SELECT DISTINCT "projectId", "day" FROM day ON CONFLICT DO NOTHING
  )`;
}

/** SQL for the UTC day of a time. */
export const dayOf = (time: string): string => `(${time} AT TIME ZONE 'UTC')::date`;
