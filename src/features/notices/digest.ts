import type pg from 'pg';
import type { Logger } from 'pino';
import { runStatement, statement } from '../../database/statement.ts';
import { inTransaction } from '../../database/transaction.ts';
import { isEmptyDigest, readDigest } from './digest-figures.ts';
import { CONTACT_FLAGS, type ContactFlags, HAS_CONTACT, writeMessages } from './messages.ts';

const PROJECTS_PER_ROUND = 100;
const POSTPONE_MILLISECONDS = 10 * 60_000;
/** Gives the rollups time to count the last minutes of the week. */
const START_AFTER = `interval '30 minutes'`;

/** The Monday of the last finished UTC week. No digest is sent for the week when the contacts were added. */
const LAST_WEEK = `(date_trunc('week', now() AT TIME ZONE 'UTC' - ${START_AFTER}) - interval '7 days')::date`;

const FIND_DUE = statement(
  'digest-find-due',
  `
  SELECT ${CONTACT_FLAGS}, week.day::text AS "week", p."name" AS "projectName"
  FROM (SELECT ${LAST_WEEK} AS day) AS week, "NoticeContacts" c JOIN "Project" p ON p."id" = c."projectId"
  WHERE c."id" <> ALL ($1::text[]) AND c."weeklyDigest" AND ${HAS_CONTACT} AND c."createdAt" < (week.day + 7)::timestamp AT TIME ZONE 'UTC'
    AND NOT EXISTS (SELECT FROM "WeeklyDigest" d WHERE d."projectId" = c."projectId" AND d."week" = week.day)
  ORDER BY c."id" LIMIT ${PROJECTS_PER_ROUND}`,
);

const CLAIM = statement(
  'digest-claim',
  `INSERT INTO "WeeklyDigest" ("projectId", "week") VALUES ($1, $2::date) ON CONFLICT DO NOTHING`,
);

type DigestOptions = { pool: pg.Pool; log: Logger; consoleOrigin: () => string | undefined };
type DueDigest = ContactFlags & { week: string; projectName: string };

/**
 * Creates the function that writes digests that are due for the last finished week, for some projects at a time. Any
 * number of processes may do this: only one of them can insert the row for the project and week, which happens in the
 * same transaction as the messages. Projects without activity get no message. If a digest can't be written, this process
 * leaves it for later, so that it doesn't take up every round.
 */
export function createDigests({ pool, log, consoleOrigin }: DigestOptions) {
  /** When to retry the digests that couldn't be written, by project. */
  const postponed = new Map<string, number>();

  return async function writeDigests(): Promise<void> {
    for (const [projectId, until] of postponed) if (until <= performance.now()) postponed.delete(projectId);
    const { rows } = await runStatement<DueDigest>(pool, FIND_DUE([...postponed.keys()]));
    for (const due of rows) {
      const { projectId } = due;
      try {
        await inTransaction(pool, (client) => writeOne(client, due, consoleOrigin()));
      } catch (error) {
        log.error({ err: error, projectId }, "couldn't write a project's weekly digest; will retry later");
        postponed.set(projectId, performance.now() + POSTPONE_MILLISECONDS);
      }
    }
  };
}

async function writeOne(client: pg.PoolClient, due: DueDigest, origin: string | undefined): Promise<void> {
  const { week, projectName, ...contacts } = due;
  const { projectId } = contacts;
  const { rowCount } = await runStatement(client, CLAIM(projectId, week));
  if (rowCount === 0) return;
  const digest = await readDigest(client, projectId, week);
  if (isEmptyDigest(digest)) return;
  const url = origin ? `${origin}/console/projects/${projectId}` : null;
  await writeMessages(client, contacts, { kind: 'weekly_digest', projectId, projectName, url, digest });
}
