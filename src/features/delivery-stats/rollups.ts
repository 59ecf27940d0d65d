import type pg from 'pg';
import type { Logger } from 'pino';
import { claimRound } from '../../database/rounds.ts';
import { createLoop } from '../../loop.ts';
import { DELETED_USER_ID } from '../deletions/bury.ts';
import { inCountingStep } from './counting-step.ts';
import { deliveryEntries, rollupEntries, writeRollup } from './entries.ts';
import { countFilteredOut } from './filtered-out.ts';

export type DeliveryRollups = {
  start(): void;
  stop(): Promise<void>;
  /** Counts new deliveries and recounts changed hours, in passes. `start` does this periodically. */
  run(): Promise<void>;
};

const ROUND_MILLISECONDS = 60_000;
/** This is shorter than the shortest pause between rounds, so that a single process never skips a round. */
const MIN_PERIOD_SECONDS = 40;
const PROJECT_PAGE = 1_000;
/** The maximum number of new hours per project in a pass. There are more only until a long history has been counted. */
const NEW_HOURS_PER_PASS = 1_000;
/** Recounting reads whole hours again, so an account can recount only this many before new deliveries are counted. */
const RECOUNTS_PER_PASS = 5;
const PASSES_PER_ROUND = 200;

/** Excludes deleted projects whose history is being cleared. */
const IS_KEPT = `"userId" <> '${DELETED_USER_ID}'`;

/**
 * SQL for the closed time. No delivery can finish, and no event can happen, before this time anymore: each gets the
 * start time of the transaction that writes it, or a later time, and every open transaction started after the closed
 * time. Backups don't count, because they write nothing. A margin allows for clock corrections and for transactions
 * that aren't listed yet. The time is in whole seconds, because stored times are rounded to milliseconds.
 */
const CLOSED = `
  SELECT date_trunc('second', least(min(xact_start), now() - interval '1 minute')) AS "closed" FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND application_name NOT IN ('pg_dump', 'pg_dumpall')`;

/** The finish time of a project's first delivery that isn't in the rollups yet. The LIMIT makes it an index lookup. */
const FIRST_NEW = `(
  SELECT d."updatedAt" FROM "Delivery" d
  WHERE d."projectId" = $1 AND d."updatedAt" >= until AND d."updatedAt" < $2 AND d."outcome" IS NOT NULL
  ORDER BY d."updatedAt" LIMIT 1
)`;

/**
 * The next page of projects, ordered by ID: the last ID on the page, and which of its projects may have deliveries to
 * count. Whether these deliveries have finished is checked only when they are counted, because many may be unfinished.
 */
const FIND_PROJECTS = `
  SELECT p."id", EXISTS (
    SELECT FROM "Delivery" d
    WHERE d."projectId" = p."id" AND d."updatedAt" >= coalesce(progress."countedUntil", '-infinity') AND d."updatedAt" < $2
  ) AS "isDue"
  FROM (SELECT "id" FROM "Project" WHERE "id" > $1 AND ${IS_KEPT} ORDER BY "id" LIMIT ${PROJECT_PAGE}) AS p
  LEFT JOIN "DeliveryRollupProgress" progress ON progress."projectId" = p."id"
  ORDER BY p."id"`;

/** Changed hours of deleted projects, whose rollups are being deleted too. */
const FORGET_DELETED = `
  DELETE FROM "ChangedDeliveryHour" c
  WHERE NOT EXISTS (SELECT FROM "Project" p WHERE p."id" = c."projectId" AND p.${IS_KEPT})`;

/** The projects with changed hours, once for each hour to recount in this pass. Accounts take turns. */
const FIND_CHANGED = `
  SELECT "projectId" FROM (
    SELECT "projectId", row_number() OVER (PARTITION BY "userId" ORDER BY "nth", random()) AS "turn" FROM (
      SELECT p."userId", c."projectId", row_number() OVER (PARTITION BY c."projectId") AS "nth"
      FROM (SELECT DISTINCT "projectId", "hour" FROM "ChangedDeliveryHour") AS c
      JOIN "Project" p ON p."id" = c."projectId" AND p.${IS_KEPT}
    ) AS changed
  ) AS queued
  WHERE "turn" <= ${RECOUNTS_PER_PASS} ORDER BY "turn", random()`;

/**
 * Counts the next hour for project $1, up to the closed time ($2): the first one with new deliveries or, if $3 is true,
 * an earlier one with changes. A changed hour is counted from scratch, while new deliveries are added to the existing counts. This is a
 * single statement with one snapshot, so a change that isn't visible yet isn't counted, and its "ChangedDeliveryHour"
 * row stays.
 */
const COUNT_HOUR = `
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
  SELECT hour FROM span`;

/** Advances the progress of project $1 past deliveries that haven't finished by the closed time ($2). */
const SKIP_UNFINISHED = `
  INSERT INTO "DeliveryRollupProgress" AS progress ("projectId", "countedUntil") VALUES ($1, $2)
  ON CONFLICT ("projectId") DO UPDATE SET "countedUntil" = EXCLUDED."countedUntil"
    WHERE progress."countedUntil" < EXCLUDED."countedUntil"`;

const COUNT_DAY = writeRollup(
  'DAY',
  `SELECT date_trunc('day', entry."start", 'UTC') AS "start", ms, responses, succeeded, failed, skipped, retried
   FROM (${rollupEntries(`r."projectId" = $1 AND r."interval" = 'HOUR'
     AND r."start" >= date_trunc('day', $2::timestamptz, 'UTC')
     AND r."start" < date_trunc('day', $2::timestamptz, 'UTC') + interval '24 hours'`)}) AS entry`,
);

const DELETE_EMPTY = `
  DELETE FROM "DeliveryRollup" WHERE "projectId" = $1 AND "start" IN ($2, date_trunc('day', $2::timestamptz, 'UTC'))
    AND "succeededCount" = 0 AND "failedCount" = 0 AND "skippedCount" = 0`;

/**
 * Maintains the rollups that statistics are read from. Counts deliveries that finished and events that filters
 * excluded, and recounts the hours when finished deliveries were resent or deleted. Only one process does this at a
 * time. Anything that hasn't been counted yet is read directly, so statistics are exact even if counting lags behind.
 */
export function createDeliveryRollups({ pool, log }: { pool: pg.Pool; log: Logger }): DeliveryRollups {
  const stopping = new AbortController();

  async function run(): Promise<void> {
    let isBehind = true;
    for (let pass = 0; isBehind && pass < PASSES_PER_ROUND; pass++) isBehind = await runPass();
  }

  /**
   * Counts the new deliveries of every project, and then recounts a few changed hours of each account. As a result, an
   * account that changes many hours doesn't delay the others.
   *
   * @returns whether any hours were recounted, so there may be more
   */
  async function runPass(): Promise<boolean> {
    const { rows } = await pool.query<{ closed: Date }>(CLOSED);
    const { closed } = rows[0]!;
    const failures: unknown[] = [];
    const countHour = async (projectId: string, isChanged: boolean): Promise<boolean> => {
      if (stopping.signal.aborted) return false;
      return countNextHour(pool, { projectId, closed, isChanged }).catch((error) => {
        failures.push(error);
        return false;
      });
    };
    await countFilteredOut(pool, closed, stopping.signal).catch((error) => failures.push(error));
    let due = await dueProjects(closed);
    for (let hours = 0; due.length > 0 && hours < NEW_HOURS_PER_PASS; hours++) {
      due = await filterInTurn(due, (projectId) => countHour(projectId, false));
    }
    const recounted = await filterInTurn(await changedProjects(), (projectId) => countHour(projectId, true));
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
    return recounted.length > 0;
  }

  async function dueProjects(closed: Date): Promise<string[]> {
    const due: string[] = [];
    for (let last = ''; ; ) {
      const { rows } = await pool.query<{ id: string; isDue: boolean }>(FIND_PROJECTS, [last, closed]);
      due.push(...rows.filter(({ isDue }) => isDue).map(({ id }) => id));
      if (rows.length < PROJECT_PAGE) return due;
      last = rows.at(-1)!.id;
    }
  }

  async function changedProjects(): Promise<string[]> {
    await pool.query(FORGET_DELETED);
    const { rows } = await pool.query<{ projectId: string }>(FIND_CHANGED);
    return rows.map(({ projectId }) => projectId);
  }

  async function runDue(): Promise<void> {
    if (await claimRound(pool, 'deliveryRollups', MIN_PERIOD_SECONDS)) await run();
  }

  const loop = createLoop({ task: 'count deliveries', intervalMilliseconds: ROUND_MILLISECONDS, log, round: runDue });

  return {
    run,
    start: loop.start,
    async stop() {
      stopping.abort();
      await loop.stop();
    },
  };
}

/** Runs a step for each item, one after another. Returns the items for which it returned true. */
async function filterInTurn(items: string[], step: (item: string) => Promise<boolean>): Promise<string[]> {
  const kept: string[] = [];
  for (const item of items) if (await step(item)) kept.push(item);
  return kept;
}

type Step = { projectId: string; closed: Date; isChanged: boolean };

/** @returns false if nothing is left to count, or if another process is counting the project or deleting it. */
function countNextHour(pool: pg.Pool, step: Step): Promise<boolean> {
  return inCountingStep(pool, async (client) => (await lockProject(client, step)) && (await count(client, step)));
}

async function lockProject(client: pg.PoolClient, { projectId }: Step): Promise<boolean> {
  const project = `SELECT FROM "Project" WHERE "id" = $1 AND ${IS_KEPT} FOR KEY SHARE SKIP LOCKED`;
  return (await client.query(project, [projectId])).rowCount === 1;
}

async function count(client: pg.PoolClient, { projectId, closed, isChanged }: Step): Promise<boolean> {
  const values = [projectId, closed];
  const counted = { name: 'delivery_count_hour', text: COUNT_HOUR, values: [...values, isChanged] };
  const { rows } = await client.query<{ hour: Date }>(counted);
  const hour = rows[0]?.hour;
  if (!hour) {
    await client.query(SKIP_UNFINISHED, values);
    return false;
  }
  await client.query({ name: 'delivery_count_day', text: COUNT_DAY, values: [projectId, hour] });
  await client.query(DELETE_EMPTY, [projectId, hour]);
  return true;
}
