import type pg from 'pg';
import { inTransaction } from '../../database/transaction.ts';
import { isQuiet, readDigest } from './digest-figures.ts';
import { CONTACT_FLAGS, type ContactFlags, HAS_CONTACT, writeMessages } from './messages.ts';

const PROJECTS_AT_ONCE = 50;
/** Leaves the rollups time to count the last minutes of the week. */
const START_AFTER = `interval '30 minutes'`;

/** The Monday of the last finished UTC week. A week in which the contacts were added gets no digest. */
const LAST_WEEK = `(date_trunc('week', now() AT TIME ZONE 'UTC' - ${START_AFTER}) - interval '7 days')::date`;

const FIND_DUE = `
  SELECT ${CONTACT_FLAGS}, week.day::text AS "week", p."name" AS "projectName"
  FROM (SELECT ${LAST_WEEK} AS day) AS week, "NoticeContacts" c JOIN "Project" p ON p."id" = c."projectId"
  WHERE c."weeklyDigest" AND ${HAS_CONTACT} AND c."createdAt" < (week.day + 7)::timestamp AT TIME ZONE 'UTC'
    AND NOT EXISTS (SELECT FROM "WeeklyDigest" d WHERE d."projectId" = c."projectId" AND d."week" = week.day)
  ORDER BY c."id" LIMIT ${PROJECTS_AT_ONCE}`;

const CLAIM = `INSERT INTO "WeeklyDigest" ("projectId", "week") VALUES ($1, $2::date) ON CONFLICT DO NOTHING`;

type DueDigest = ContactFlags & { week: string; projectName: string };

/**
 * Writes the digests of the last finished week that are due. Any number of processes may do this: one inserts the row for
 * the project and week, in the same transaction as the messages. Projects in which nothing happened get no message.
 *
 * @returns how many digests this call wrote.
 */
export async function writeDigests(pool: pg.Pool, consoleOrigin: string | undefined): Promise<number> {
  let count = 0;
  for (;;) {
    const { rows } = await pool.query<DueDigest>(FIND_DUE);
    for (const due of rows) {
      if (await inTransaction(pool, (client) => writeOne(client, due, consoleOrigin))) count += 1;
    }
    if (rows.length < PROJECTS_AT_ONCE) return count;
  }
}

async function writeOne(client: pg.PoolClient, due: DueDigest, origin: string | undefined): Promise<boolean> {
  const { week, projectName, ...contacts } = due;
  const { projectId } = contacts;
  const { rowCount } = await client.query(CLAIM, [projectId, week]);
  if (rowCount === 0) return false;
  const digest = await readDigest(client, projectId, week);
  if (isQuiet(digest)) return false;
  const url = origin ? `${origin}/console/projects/${projectId}` : null;
  await writeMessages(client, contacts, { kind: 'weekly_digest', projectId, projectName, url, digest });
  return true;
}
