import type pg from 'pg';
import type { Logger } from 'pino';
import { claimRound } from '../../database/rounds.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { createLoop } from '../../loop.ts';
import { DELETED_USER_ID } from '../deletions/soft-delete.ts';
import { countPaymentHour, findProjectsWithPayments } from '../revenue/count-payments.ts';
import { countDeliveryHour, findProjectsWithDeliveries } from './count-deliveries.ts';
import { inCountingStep } from './counting-step.ts';
import { countFilteredOut } from './filtered-out.ts';

export type Rollups = {
  start(): void;
  stop(): Promise<void>;
  /** Counts new deliveries and payments, and recounts changed hours, in passes. `start` does this periodically. */
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
 * SQL for the closed time. No delivery can finish, no payment can fail, and no event can happen, before this time
 * anymore: each gets the start time of the transaction that writes it, or a later time, and every open transaction
 * started after the closed time. Backups and index builds don't count, because they write no rows. A margin allows for
 * clock corrections and for transactions that aren't listed yet. The time is in whole seconds, because stored times are
 * rounded to milliseconds.
 */
const CLOSED = statement(
  'delivery-stats-closed-hour',
  `
  SELECT date_trunc('second', least(min(xact_start), now() - interval '1 minute')) AS "closed" FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND application_name NOT IN ('pg_dump', 'pg_dumpall', 'tollgate-indexes')`,
);

/** What is counted by project and hour. Each statement finds the projects where there may be something to count. */
const KINDS = [
  {
    findProjects: statement('delivery-stats-find-projects', findProjectsWithDeliveries(IS_KEPT, PROJECT_PAGE)),
    countHour: countDeliveryHour,
  },
  {
    findProjects: statement('revenue-find-projects', findProjectsWithPayments(IS_KEPT, PROJECT_PAGE)),
    countHour: countPaymentHour,
  },
] as const;

const KEEP_PROJECT = statement(
  'delivery-stats-keep-project',
  `SELECT FROM "Project" WHERE "id" = $1 AND ${IS_KEPT} FOR KEY SHARE SKIP LOCKED`,
);

type Kind = (typeof KINDS)[number];
/** A project to count the next hour for. `isChanged`: whether it may be an hour that has changed. */
type Due = { projectId: string; isChanged: boolean; countHour: Kind['countHour'] };

/** Changed hours of deleted projects, whose rollups are being deleted too. */
const FORGET_DELETED = statement(
  'delivery-stats-forget-deleted',
  `
  DELETE FROM "ChangedDeliveryHour" c
  WHERE NOT EXISTS (SELECT FROM "Project" p WHERE p."id" = c."projectId" AND p.${IS_KEPT})`,
);

/** The projects with changed hours, once for each hour to recount in this pass. Accounts take turns. */
const FIND_CHANGED = statement(
  'delivery-stats-find-changed',
  `
  SELECT "projectId" FROM (
    SELECT "projectId", row_number() OVER (PARTITION BY "userId" ORDER BY "nth", random()) AS "round" FROM (
      SELECT p."userId", c."projectId", row_number() OVER (PARTITION BY c."projectId") AS "nth"
      FROM (SELECT DISTINCT "projectId", "hour" FROM "ChangedDeliveryHour") AS c
      JOIN "Project" p ON p."id" = c."projectId" AND p.${IS_KEPT}
    ) AS changed
  ) AS queued
  WHERE "round" <= ${RECOUNTS_PER_PASS} ORDER BY "round", random()`,
);

/**
 * Maintains the rollups that statistics and revenue are read from. Counts deliveries that finished, payments that
 * settled or failed, and events that filters excluded. Recounts the hours when finished deliveries were resent or
 * deleted, and those of settlements that were recorded late. Only one process does this at a time. Anything that hasn't
 * been counted yet is read directly, so statistics are exact even if counting lags behind.
 */
export function createRollups({ pool, log }: { pool: pg.Pool; log: Logger }): Rollups {
  const stopping = new AbortController();

  async function run(): Promise<void> {
    let isBehind = true;
    for (let pass = 0; isBehind && pass < PASSES_PER_ROUND; pass++) isBehind = await runPass();
  }

  /**
   * Counts the new deliveries and payments of every project, and then recounts a few changed hours of each account. As
   * a result, an account that changes many hours doesn't delay the others. Late settlements are rare, so their hours
   * are recounted along with the new payments.
   *
   * @returns whether any hours were recounted, so there may be more
   */
  async function runPass(): Promise<boolean> {
    const { rows } = await runStatement<{ closed: Date }>(pool, CLOSED());
    const { closed } = rows[0]!;
    const failures: unknown[] = [];
    const countHour = async (due: Due): Promise<boolean> => {
      if (stopping.signal.aborted) return false;
      return countNextHour(pool, { ...due, closed }).catch((error) => {
        failures.push(error);
        return false;
      });
    };
    await countFilteredOut(pool, closed, stopping.signal).catch((error) => failures.push(error));
    let due: Due[] = [];
    for (const kind of KINDS) due.push(...(await dueProjects(kind, closed)));
    for (let hours = 0; due.length > 0 && hours < NEW_HOURS_PER_PASS; hours++)
      due = await filterSequentially(due, countHour);
    const recounted = await filterSequentially(await changedProjects(), countHour);
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
    return recounted.length > 0;
  }

  async function dueProjects({ findProjects, countHour }: Kind, closed: Date): Promise<Due[]> {
    const due: Due[] = [];
    for (let last = ''; ; ) {
      const { rows } = await runStatement(pool, findProjects(last, closed));
      for (const { id, isDue } of rows) if (isDue) due.push({ projectId: id, isChanged: false, countHour });
      if (rows.length < PROJECT_PAGE) return due;
      last = rows.at(-1)!.id;
    }
  }

  async function changedProjects(): Promise<Due[]> {
    await runStatement(pool, FORGET_DELETED());
    const { rows } = await runStatement<{ projectId: string }>(pool, FIND_CHANGED());
    return rows.map(({ projectId }) => ({ projectId, isChanged: true, countHour: countDeliveryHour }));
  }

  async function runDue(): Promise<void> {
    if (await claimRound(pool, 'deliveryRollups', MIN_PERIOD_SECONDS)) await run();
  }

  const loop = createLoop({ task: 'update rollups', intervalMilliseconds: ROUND_MILLISECONDS, log, round: runDue });

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
async function filterSequentially<Item>(items: Item[], step: (item: Item) => Promise<boolean>): Promise<Item[]> {
  const kept: Item[] = [];
  for (const item of items) if (await step(item)) kept.push(item);
  return kept;
}

/** @returns false if nothing is left to count, or if another process is counting the project or deleting it. */
function countNextHour(pool: pg.Pool, step: Due & { closed: Date }): Promise<boolean> {
  return inCountingStep(
    pool,
    async (client) => (await lockProject(client, step)) && (await step.countHour(client, step)),
  );
}

async function lockProject(client: pg.PoolClient, { projectId }: Due): Promise<boolean> {
  return (await runStatement(client, KEEP_PROJECT(projectId))).rowCount === 1;
}
