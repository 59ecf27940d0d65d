import type pg from 'pg';
import { preparedStatement, runStatement, statement } from '../../database/statement.ts';
import { firstIdAt } from '../../ids.ts';
import { inCountingStep } from './counting-step.ts';

/** How many events a destination's filter excluded. */
export type FilteredOut = { destinationId: string; count: number };

const STEP_EVENTS = 50_000;
/** IDs are created with clocks that may differ from the database's clock, but never by this much. */
const CLOCK_MARGIN_MILLISECONDS = 60_000;

/** The range of event IDs to count in the next step. Ends at $1 if the remaining events fit in one step. */
const FIND_STEP = preparedStatement(
  'filtered_out_step',
  `SELECT p."countedUntil" AS "from", coalesce((
     SELECT e."id" FROM "Event" e WHERE e."id" >= p."countedUntil" AND e."id" < $1
     ORDER BY e."id" OFFSET ${STEP_EVENTS} LIMIT 1
   ), $1) AS "until"
   FROM "FilteredOutProgress" p WHERE p."countedUntil" < $1`,
);

/**
 * Adds the events from $1 up to $2 to the rollups. To avoid a deadlock, this locks their projects first, as project
 * deletion does.
 */
const COUNT = preparedStatement(
  'filtered_out_count',
  `
  WITH filtered AS MATERIALIZED (
    SELECT e."projectId", date_trunc('hour', e."timestamp", 'UTC') AS "hour", d."destinationId", count(*)::int AS "count"
    FROM "Event" e CROSS JOIN unnest(e."filteredOut") AS d("destinationId")
    WHERE e."id" >= $1 AND e."id" < $2 AND e."filteredOut" IS NOT NULL
    GROUP BY 1, 2, 3
  ), project AS MATERIALIZED (
    SELECT "id" FROM "Project" WHERE "id" IN (SELECT "projectId" FROM filtered) ORDER BY "id" FOR KEY SHARE
  )
  INSERT INTO "FilteredOutRollup" AS r ("projectId", "hour", "destinationId", "count")
  SELECT f.* FROM filtered f JOIN project ON project."id" = f."projectId"
  ON CONFLICT ("projectId", "hour", "destinationId") DO UPDATE SET "count" = r."count" + EXCLUDED."count"`,
);

const MOVE = statement('filtered-out-move', 'UPDATE "FilteredOutProgress" SET "countedUntil" = $1');

/**
 * The counts for project $1 from $2 to $3, by destination. Adds up the rollups and the events that aren't in them yet,
 * reading at most $4 of those events. The row without a destination shows whether there are more.
 */
export const READ_FILTERED_OUT = statement(
  'filtered-out-read',
  `WITH event AS MATERIALIZED (
     SELECT e."filteredOut" FROM "Event" e
     WHERE e."projectId" = $1 AND e."id" >= (SELECT "countedUntil" FROM "FilteredOutProgress")
       AND e."timestamp" >= $2 AND e."timestamp" < $3
     ORDER BY e."id" DESC LIMIT $4
   )
   SELECT "destinationId", sum("count")::int AS "count", (SELECT count(*) FROM event) = $4 AS "isPartial" FROM (
     SELECT r."destinationId", r."count" FROM "FilteredOutRollup" r
     WHERE r."projectId" = $1 AND r."hour" >= $2 AND r."hour" < $3
     UNION ALL
     SELECT d."destinationId", 1 FROM event e CROSS JOIN unnest(e."filteredOut") AS d("destinationId")
   ) AS entry GROUP BY GROUPING SETS (("destinationId"), ()) ORDER BY "count" DESC, "destinationId"`,
);

/**
 * Adds events that filters excluded to the rollups. Every event is read once, in ID order. An event's ID is created in
 * the transaction that writes the event, so no event with an ID from before `closed` can appear later.
 *
 * @param closed the start of the oldest open transaction, or earlier
 */
export async function countFilteredOut(pool: pg.Pool, closed: Date, signal: AbortSignal): Promise<void> {
  const end = firstIdAt('Event', closed.getTime() - CLOCK_MARGIN_MILLISECONDS);
  let isBehind = true;
  while (isBehind && !signal.aborted) isBehind = await inCountingStep(pool, (client) => countStep(client, end));
}

/** @returns whether there are more events to count. */
async function countStep(client: pg.PoolClient, end: string): Promise<boolean> {
  const { rows } = await runStatement(client, FIND_STEP(end));
  if (!rows[0]) return false;
  const { from, until } = rows[0];
  await runStatement(client, COUNT(from, until));
  await runStatement(client, MOVE(until));
  return until < end;
}
