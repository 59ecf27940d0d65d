import type pg from 'pg';
import { asReference } from '../../database/reference.ts';
import { preparedStatement, runStatement, statement } from '../../database/statement.ts';
import { deliveryEntries, rollupEntries, writeRollup } from './entries.ts';

/** The finish time of a project's first delivery that isn't in the rollups yet. The LIMIT makes it an index lookup. */
const FIRST_NEW = `(
  SELECT d."updatedAt" FROM "Delivery" d
  WHERE d."projectId" = $1 AND d."updatedAt" >= until AND d."updatedAt" < $2 AND d."outcome" IS NOT NULL
  ORDER BY d."updatedAt" LIMIT 1
)`;

/**
 * The next page of projects, ordered by ID, and which of them may have deliveries to count before the closed time ($2).
 * $1 is the last ID of the previous page. Whether these deliveries have finished is checked only when they are counted,
 * because many may be unfinished.
 */
export const findProjectsWithDeliveries = (condition: string, pageSize: number): string => `
  SELECT p."id", EXISTS (
    SELECT FROM "Delivery" d
    WHERE d."projectId" = p."projectId" AND d."updatedAt" >= coalesce(progress."countedUntil", '-infinity') AND d."updatedAt" < $2
  ) AS "isDue"
  FROM (
    SELECT "id", ${asReference('"id"')} AS "projectId" FROM "Project" WHERE "id" > $1 AND ${condition} ORDER BY "id" LIMIT ${pageSize}
  ) AS p
  LEFT JOIN "DeliveryRollupProgress" progress ON progress."projectId" = p."projectId"
  ORDER BY p."id"`;

/**
 * Counts the next hour for project $1, up to the closed time ($2): the first one with new deliveries or, if $3 is true,
 * an earlier one with changes. A changed hour is counted from scratch, while new deliveries are added to the existing counts. This is a
 * single statement with one snapshot, so a change that isn't visible yet isn't counted, and its "ChangedDeliveryHour"
 * row stays.
 */
const COUNT_HOUR = preparedStatement(
  'delivery_count_hour',
  `
  WITH progress AS (
    SELECT coalesce((SELECT "countedUntil" FROM "DeliveryRollupProgress" WHERE "projectId" = $1), '-infinity') AS until
  ),
  next AS (
    SELECT until, least(
      CASE WHEN $3 THEN (SELECT min("hour") FROM "ChangedDeliveryHour" WHERE "projectId" = $1) END,
      date_trunc('hour', ${FIRST_NEW}, 'UTC')
    ) AS hour FROM progress
  ),
  noted AS (
    DELETE FROM "ChangedDeliveryHour" c USING next WHERE c."projectId" = $1 AND c."hour" = next.hour RETURNING c."id"
  ),
  span AS (
    SELECT hour, until, hour < until AND NOT EXISTS (SELECT FROM noted) AS "isAdding",
      greatest(until, least(hour + interval '1 hour', $2::timestamptz)) AS "countedUntil"
    FROM next WHERE hour IS NOT NULL
  ),
  moved AS (
    INSERT INTO "DeliveryRollupProgress" ("projectId", "countedUntil") SELECT $1, "countedUntil" FROM span
    ON CONFLICT ("projectId") DO UPDATE SET "countedUntil" = EXCLUDED."countedUntil"
  ),
  written AS (
    ${writeRollup(
      'HOUR',
      `SELECT hour AS "start", NULL::int AS ms, 0 AS responses, 0 AS succeeded, 0 AS failed, 0 AS skipped, 0 AS retried FROM span
       UNION ALL
       ${rollupEntries(`r."projectId" = $1 AND r."interval" = 'HOUR' AND r."start" = (SELECT hour FROM span WHERE "isAdding")`)}
       UNION ALL
       ${deliveryEntries(
         'span.hour',
         `span JOIN "Delivery" d ON d."projectId" = $1 AND d."outcome" IS NOT NULL
            AND d."updatedAt" >= CASE WHEN "isAdding" THEN until ELSE hour END
            AND d."updatedAt" < least(hour + interval '1 hour', "countedUntil")`,
       )}`,
    )}
  )
  SELECT hour FROM span`,
);

/** Advances the progress of project $1 past deliveries that haven't finished by the closed time ($2). */
const SKIP_UNFINISHED = statement(
  'delivery-stats-skip-unfinished',
  `
  INSERT INTO "DeliveryRollupProgress" AS progress ("projectId", "countedUntil") VALUES ($1, $2)
  ON CONFLICT ("projectId") DO UPDATE SET "countedUntil" = EXCLUDED."countedUntil"
    WHERE progress."countedUntil" < EXCLUDED."countedUntil"`,
);

const COUNT_DAY = preparedStatement(
  'delivery_count_day',
  writeRollup(
    'DAY',
    `SELECT date_trunc('day', entry."start", 'UTC') AS "start", ms, responses, succeeded, failed, skipped, retried
   FROM (${rollupEntries(`r."projectId" = $1 AND r."interval" = 'HOUR'
     AND r."start" >= date_trunc('day', $2::timestamptz, 'UTC')
     AND r."start" < date_trunc('day', $2::timestamptz, 'UTC') + interval '24 hours'`)}) AS entry`,
  ),
);

const DELETE_EMPTY = statement(
  'delivery-stats-delete-empty',
  `
  DELETE FROM "DeliveryRollup" WHERE "projectId" = $1 AND "start" IN ($2, date_trunc('day', $2::timestamptz, 'UTC'))
    AND "succeededCount" = 0 AND "failedCount" = 0 AND "skippedCount" = 0`,
);

/**
 * Counts the next hour of a project's deliveries in a transaction that has locked the project.
 *
 * @param step `isChanged`: whether changed hours are counted too. `closed`: see `CLOSED` in `rollups.ts`.
 * @returns false if nothing is left to count.
 */
export async function countDeliveryHour(
  client: pg.PoolClient,
  { projectId, closed, isChanged }: { projectId: string; closed: Date; isChanged: boolean },
): Promise<boolean> {
  const { rows } = await runStatement(client, COUNT_HOUR(projectId, closed, isChanged));
  const hour = rows[0]?.hour;
  if (!hour) {
    await runStatement(client, SKIP_UNFINISHED(projectId, closed));
    return false;
  }
  await runStatement(client, COUNT_DAY(projectId, hour));
  await runStatement(client, DELETE_EMPTY(projectId, hour));
  return true;
}
