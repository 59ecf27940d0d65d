import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { claimRound } from '../../database/rounds.ts';
import { DELETED_USER_ID } from '../deletions/bury.ts';
import { inCountingStep } from './counting-step.ts';
import { deliveryEntries, rollupEntries, writeRollup } from './entries.ts';
import { countFilteredOut } from './filtered-out.ts';

export type DeliveryRollups = {
  start(): void;
  stop(): Promise<void>;
  /** Counts up to 1,000 hours of each project that aren't counted yet. `start` does this periodically. */
  run(): Promise<void>;
};

const ROUND_MILLISECONDS = 60_000;
/** Shorter than the shortest pause between rounds, so that a process on its own runs all of its rounds. */
const MIN_PERIOD_SECONDS = 40;
const PROJECT_PAGE = 1_000;
const HOURS_PER_ROUND = 1_000;

/** Leaves out deleted projects whose history is being cleared. */
const IS_KEPT = `"userId" <> '${DELETED_USER_ID}'`;

/**
 * The time before which no delivery can finish and no event can happen anymore. Both are dated at the start of the
 * transaction that writes them, or later. So this time is before the start of every open transaction, except those of
 * backups, which write nothing. A margin covers transactions that aren't listed yet and clock corrections. Whole
 * seconds, because stored times are rounded to milliseconds.
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
 * The next page of projects in the order of their IDs: the last ID on it, and which of its projects may have deliveries
 * to count. Whether any of these deliveries has finished is checked only when they are counted, because many may be
 * unfinished.
 */
const FIND_PROJECTS = `
  SELECT p."id", EXISTS (
    SELECT FROM "Delivery" d
    WHERE d."projectId" = p."id" AND d."updatedAt" >= coalesce(progress."countedUntil", '-infinity') AND d."updatedAt" < $2
  ) AS "isDue"
  FROM (SELECT "id" FROM "Project" WHERE "id" > $1 AND ${IS_KEPT} ORDER BY "id" LIMIT ${PROJECT_PAGE}) AS p
  LEFT JOIN "DeliveryRollupProgress" progress ON progress."projectId" = p."id"
  ORDER BY p."id"`;

/**
 * Counts a project's ($1) next hour up to the closed time ($2): one with changes, or the first with new deliveries. A changed
 * hour is counted from scratch, and new deliveries are added to what is counted. It is one statement, and so one snapshot:
 * a change that isn't visible isn't counted, and its note stays.
 */
const COUNT_HOUR = `
  WITH progress AS (
    SELECT coalesce((SELECT "countedUntil" FROM "DeliveryRollupProgress" WHERE "projectId" = $1), '-infinity') AS until
  ),
  next AS (
    SELECT until, least(
      (SELECT min("hour") FROM "ChangedDeliveryHour" WHERE "projectId" = $1),
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

/** Moves a project's ($1) progress past deliveries that haven't finished by the closed time ($2). */
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
 * Keeps the rollups that statistics are read from. Counts deliveries that finished and events that filters excluded,
 * and recounts the hours in which finished deliveries were resent or deleted. One process at a time does this. Until
 * something is counted, statistics read the deliveries themselves, so they are exact even if this is late.
 */
export function createDeliveryRollups({ pool, log }: { pool: pg.Pool; log: Logger }): DeliveryRollups {
  const stopping = new AbortController();
  let loop: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    const { rows } = await pool.query<{ closed: Date }>(CLOSED);
    const { closed } = rows[0]!;
    const failures: unknown[] = [];
    await countFilteredOut(pool, closed, stopping.signal).catch((error) => failures.push(error));
    for await (const projectId of dueProjects(closed)) {
      await countProject(projectId, closed).catch((error) => failures.push(error));
      if (stopping.signal.aborted) return;
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  }

  /** Counts a project's next hours. Any remaining hours have to wait for the other projects. */
  async function countProject(projectId: string, closed: Date): Promise<void> {
    for (let hours = 0; hours < HOURS_PER_ROUND && !stopping.signal.aborted; hours++) {
      if (!(await countNextHour(pool, projectId, closed))) return;
    }
  }

  async function* dueProjects(closed: Date): AsyncGenerator<string> {
    const changed = await pool.query<{ id: string }>('SELECT DISTINCT "projectId" AS "id" FROM "ChangedDeliveryHour"');
    for (const { id } of changed.rows) yield id;
    for (let last = ''; ; ) {
      const { rows } = await pool.query<{ id: string; isDue: boolean }>(FIND_PROJECTS, [last, closed]);
      for (const { id, isDue } of rows) if (isDue) yield id;
      if (rows.length < PROJECT_PAGE) return;
      last = rows.at(-1)!.id;
    }
  }

  async function runDue(): Promise<void> {
    if (await claimRound(pool, 'deliveryRollups', MIN_PERIOD_SECONDS)) await run();
  }

  async function repeat(): Promise<void> {
    while (!stopping.signal.aborted) {
      await runDue().catch((error) =>
        log.warn({ err: error }, 'could not count deliveries; the next round will retry'),
      );
      const pause = ROUND_MILLISECONDS * (0.75 + Math.random() / 2);
      await sleep(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  return {
    run,
    start() {
      loop = repeat();
    },
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

/** @returns false if nothing is left to count, or if another process or the project's deletion is in the way. */
function countNextHour(pool: pg.Pool, projectId: string, closed: Date): Promise<boolean> {
  return inCountingStep(
    pool,
    async (client) => (await lockProject(client, projectId)) && (await count(client, projectId, closed)),
  );
}

async function lockProject(client: pg.PoolClient, projectId: string): Promise<boolean> {
  const project = `SELECT FROM "Project" WHERE "id" = $1 AND ${IS_KEPT}`;
  if ((await client.query(`${project} FOR KEY SHARE SKIP LOCKED`, [projectId])).rowCount === 1) return true;
  const isDeleted = (await client.query(project, [projectId])).rowCount === 0;
  if (isDeleted) await client.query('DELETE FROM "ChangedDeliveryHour" WHERE "projectId" = $1', [projectId]);
  return false;
}

async function count(client: pg.PoolClient, projectId: string, closed: Date): Promise<boolean> {
  const values = [projectId, closed];
  const { rows } = await client.query<{ hour: Date }>({ name: 'delivery_count_hour', text: COUNT_HOUR, values });
  const hour = rows[0]?.hour;
  if (!hour) {
    await client.query(SKIP_UNFINISHED, values);
    return false;
  }
  await client.query({ name: 'delivery_count_day', text: COUNT_DAY, values: [projectId, hour] });
  await client.query(DELETE_EMPTY, [projectId, hour]);
  return true;
}
