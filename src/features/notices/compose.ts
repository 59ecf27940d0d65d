import type pg from 'pg';
import type { Logger } from 'pino';
import { DUE } from '../../database/due.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { inTransaction } from '../../database/transaction.ts';
import type { Notice } from '../../generated/prisma/client.ts';
import { CONTACT_FLAGS, type ContactFlags, HAS_CONTACT, type SentNotice, writeMessages } from './messages.ts';
import { noticePath, noticeText } from './types.ts';

const PROJECTS_AT_ONCE = 50;
/** A message lists at most this many notices. */
const MAX_LISTED = 20;
/** How long to wait after a message. The wait doubles with each further message, until it is more than five hours. */
const FIRST_GAP_MINUTES = 10;
const MAX_STEP = 6;
/** If no message was due for this long, the first wait applies again. */
const QUIET_HOURS = 6;

const FIND_DUE = statement(
  'notices-find-due',
  `
  SELECT n."projectId" FROM "Notice" n JOIN "NoticeContacts" c ON c."id" = n."projectId"
  WHERE n."dueAt" <= ${DUE} AND c."nextMessageAt" <= ${DUE} AND ${HAS_CONTACT}
  GROUP BY n."projectId" ORDER BY min(n."dueAt") LIMIT ${PROJECTS_AT_ONCE}`,
);

/** Returns no row if another process is writing a message for the project. */
const LOCK_CONTACTS = statement(
  'notices-lock-contacts',
  `
  SELECT ${CONTACT_FLAGS}, (SELECT p."name" FROM "Project" p WHERE p."id" = c."projectId") AS "projectName"
  FROM "NoticeContacts" c WHERE c."id" = $1 AND c."nextMessageAt" <= ${DUE} AND ${HAS_CONTACT}
  FOR UPDATE SKIP LOCKED`,
);

/** Takes all due notices of a project, so that each is in only one message. */
const TAKE_DUE = statement(
  'notices-take-due',
  `
  UPDATE "Notice" SET "dueAt" = NULL, "notifiedAt" = now() WHERE "projectId" = $1 AND "dueAt" <= ${DUE} RETURNING *`,
);

const STEP = `CASE
  WHEN "nextMessageAt" <= now() - interval '${QUIET_HOURS} hours' THEN 1 ELSE least("messageStep" + 1, ${MAX_STEP}) END`;
/**
 * Postpones a project if its message can't be written. Otherwise, the project would delay the others in every round.
 */
const POSTPONE = statement(
  'notices-postpone',
  `
  UPDATE "NoticeContacts" SET "nextMessageAt" = now() + interval '${FIRST_GAP_MINUTES} minutes' WHERE "id" = $1`,
);
const START_GAP = statement(
  'notices-start-gap',
  `
  UPDATE "NoticeContacts" SET
    "messageStep" = ${STEP}, "nextMessageAt" = now() + interval '${FIRST_GAP_MINUTES} minutes' * 2 ^ (${STEP} - 1)
  WHERE "id" = $1`,
);

/**
 * Writes a message for each project that has due notices and hasn't gotten a message too recently. The notices are
 * marked as sent in the same transaction.
 *
 * @param consoleOrigin the console's origin, if known.
 * @returns how many projects got a message.
 */
export async function composeMessages(pool: pg.Pool, consoleOrigin: string | undefined, log: Logger): Promise<number> {
  const { rows } = await runStatement<{ projectId: string }>(pool, FIND_DUE());
  let count = 0;
  for (const { projectId } of rows) {
    try {
      if (await inTransaction(pool, (client) => composeOne(client, projectId, consoleOrigin))) count += 1;
    } catch (error) {
      log.error({ err: error, projectId }, "couldn't write a project's notices; will retry later");
      await runStatement(pool, POSTPONE(projectId));
    }
  }
  return count;
}

async function composeOne(client: pg.PoolClient, projectId: string, origin: string | undefined): Promise<boolean> {
  const { rows } = await runStatement<ContactFlags & { projectName: string }>(client, LOCK_CONTACTS(projectId));
  if (!rows[0]) return false;
  const { projectName, ...contacts } = rows[0];
  const notices = (await runStatement<Notice>(client, TAKE_DUE(projectId))).rows;
  if (notices.length === 0) return false;
  notices.sort((one, other) => one.lastAt.getTime() - other.lastAt.getTime());
  await runStatement(client, START_GAP(projectId));
  await writeMessages(client, contacts, {
    kind: 'notices',
    projectId,
    projectName,
    url: origin ? `${origin}/console/projects/${projectId}/notices` : null,
    notices: notices.slice(0, MAX_LISTED).map((notice) => sentNotice(notice, origin)),
    moreCount: Math.max(0, notices.length - MAX_LISTED),
  });
  return true;
}

function sentNotice(notice: Notice, origin: string | undefined): SentNotice {
  const { id, type, subjectId, subject, detail, count, firstAt, lastAt } = notice;
  return {
    id,
    type,
    subjectId,
    subject,
    detail,
    count,
    ...noticeText(notice),
    firstAt: firstAt.toISOString(),
    lastAt: lastAt.toISOString(),
    url: origin ? origin + noticePath(notice) : null,
  };
}
