import type pg from 'pg';
import { asReference } from '../../database/reference.ts';
import { runStatement, statement } from '../../database/statement.ts';

const PROJECTS_PER_PAGE = 100;
/** Enough to show how many are affected, and few enough that a page of projects takes little time. */
const MAX_COUNTED = 10_000;
/** The limit for each paused destination that isn't among the project's oldest deliveries. */
const MAX_COUNTED_PAUSED = 1_000;

/** Projects with IDs after `after`, up to and including `upTo`. The last page has no `upTo`. */
export type ProjectPage = { after: string; upTo: string | null };

/**
 * The destinations with undelivered deliveries that have an ID before $1, in the projects after $2 and up to $3. Counts
 * the oldest deliveries of each project ("Delivery_unfinished"). If one destination has more than can be counted, those
 * of paused destinations are still found ("Delivery_held"), because they don't become fewer on their own.
 */
export const EXPIRING = `
  SELECT "projectId", "subjectId", max("count") AS "count" FROM (
    SELECT p."id" AS "projectId", coalesce(d."webhookId", d."connectorId") AS "subjectId", count(*)::int AS "count"
    FROM "Project" p CROSS JOIN LATERAL (
      SELECT "webhookId", "connectorId" FROM "Delivery"
      WHERE "projectId" = ${asReference('p."id"')} AND "outcome" IS NULL AND "id" < $1 ORDER BY "id" LIMIT ${MAX_COUNTED}
    ) AS d
    WHERE p."id" > $2 AND ($3::text IS NULL OR p."id" <= $3) GROUP BY 1, 2
    UNION ALL
    SELECT paused."projectId", paused."id", held."count" FROM (
      SELECT "id", "projectId" FROM "Webhook" WHERE "pausedAt" IS NOT NULL
      UNION ALL SELECT "id", "projectId" FROM "Connector" WHERE "pausedAt" IS NOT NULL
    ) AS paused CROSS JOIN LATERAL (
      SELECT count(*)::int AS "count" FROM (
        SELECT FROM "Delivery"
        WHERE coalesce("webhookId", "connectorId") = ${asReference('paused."id"')} AND "outcome" IS NULL AND "nextAttemptAt" IS NULL
          AND "reason" = 'paused' AND "id" < $1
        LIMIT ${MAX_COUNTED_PAUSED}
      ) AS oldest
    ) AS held
    WHERE paused."projectId" > $2 AND ($3::text IS NULL OR paused."projectId" <= $3) AND held."count" > 0
  ) AS counted GROUP BY 1, 2`;

/** Runs `check` for all projects, some at a time, so that a project with many deliveries can't delay or fail all others. */
export async function eachProjectPage(pool: pg.Pool, check: (page: ProjectPage) => Promise<void>): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const found: { rows: { id: string }[] } = await runStatement(pool, FIND_PAGE_END(after));
    const upTo: string | null = found.rows[0]?.id ?? null;
    await check({ after, upTo });
    after = upTo;
  }
}

const FIND_PAGE_END = statement(
  'notices-project-page',
  `SELECT "id" FROM "Project" WHERE "id" > $1 ORDER BY "id" OFFSET ${PROJECTS_PER_PAGE - 1} LIMIT 1`,
);
