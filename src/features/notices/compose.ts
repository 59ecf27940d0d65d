import type pg from 'pg';
import { inTransaction } from '../../database/transaction.ts';
import type { Notice } from '../../generated/prisma/client.ts';
import { CONTACT_FLAGS, type ContactFlags, HAS_CONTACT, type ToldNotice, writeMessages } from './messages.ts';
import { noticePath, noticeText } from './types.ts';

const PROJECTS_AT_ONCE = 50;
/** A message lists at most this many notices. */
const MAX_LISTED = 20;
/** The wait after a message. It doubles with each further message, up to over five hours. */
const FIRST_GAP_MINUTES = 10;
const MAX_STEP = 6;
/** When no message was due for this long, the first wait applies again. */
const QUIET_HOURS = 6;

const FIND_DUE = `
  SELECT DISTINCT n."projectId" FROM "Notice" n JOIN "NoticeContacts" c ON c."id" = n."projectId"
  WHERE n."dueAt" <= now() AND c."nextMessageAt" <= now() AND ${HAS_CONTACT} LIMIT ${PROJECTS_AT_ONCE}`;

/** If another process is writing a message for the project, there is no row. */
const LOCK_CONTACTS = `
  SELECT ${CONTACT_FLAGS}, (SELECT p."name" FROM "Project" p WHERE p."id" = c."projectId") AS "projectName"
  FROM "NoticeContacts" c WHERE c."id" = $1 AND c."nextMessageAt" <= now() AND ${HAS_CONTACT}
  FOR UPDATE SKIP LOCKED`;

/** Takes all due notices of a project, so that each is in only one message. */
const TAKE_DUE = `
  UPDATE "Notice" SET "dueAt" = NULL, "notifiedAt" = now() WHERE "projectId" = $1 AND "dueAt" <= now() RETURNING *`;

const STEP = `CASE
  WHEN "nextMessageAt" <= now() - interval '${QUIET_HOURS} hours' THEN 1 ELSE least("messageStep" + 1, ${MAX_STEP}) END`;
const START_GAP = `
  UPDATE "NoticeContacts" SET
    "messageStep" = ${STEP}, "nextMessageAt" = now() + interval '${FIRST_GAP_MINUTES} minutes' * 2 ^ (${STEP} - 1)
  WHERE "id" = $1`;

/**
 * Writes a message for each project that has due notices and hasn't had a message too recently. The notices
 * are marked as sent in the same transaction.
 *
 * @param consoleOrigin where the console is, if that is known.
 * @returns how many projects got a message.
 */
export async function composeMessages(pool: pg.Pool, consoleOrigin: string | undefined): Promise<number> {
  const { rows } = await pool.query<{ projectId: string }>(FIND_DUE);
  let count = 0;
  for (const { projectId } of rows) {
    if (await inTransaction(pool, (client) => composeOne(client, projectId, consoleOrigin))) count += 1;
  }
  return count;
}

async function composeOne(client: pg.PoolClient, projectId: string, origin: string | undefined): Promise<boolean> {
  const { rows } = await client.query<ContactFlags & { projectName: string }>(LOCK_CONTACTS, [projectId]);
  if (!rows[0]) return false;
  const { projectName, ...contacts } = rows[0];
  const notices = (await client.query<Notice>(TAKE_DUE, [projectId])).rows;
  if (notices.length === 0) return false;
  notices.sort((one, other) => one.lastAt.getTime() - other.lastAt.getTime());
  await client.query(START_GAP, [projectId]);
  await writeMessages(client, contacts, {
    kind: 'notices',
    ...{ projectId, projectName, url: origin ? `${origin}/console/projects/${projectId}/notices` : null },
    notices: notices.slice(0, MAX_LISTED).map((notice) => toldNotice(notice, origin)),
    moreCount: Math.max(0, notices.length - MAX_LISTED),
  });
  return true;
}

function toldNotice(notice: Notice, origin: string | undefined): ToldNotice {
  const { id, type, subjectId, subject, detail, count, firstAt, lastAt } = notice;
  return {
    ...{ id, type, subjectId, subject, detail, count },
    ...noticeText(notice),
    firstAt: firstAt.toISOString(),
    lastAt: lastAt.toISOString(),
    url: origin ? origin + noticePath(notice) : null,
  };
}
