import type { Transaction } from '../../../database/client.ts';
import { executeWithPrisma, statement } from '../../../database/statement.ts';
import type { Invitation, ProjectTransfer } from '../../../generated/prisma/client.ts';
import type { MessageContent } from '../../notices/messages.ts';

/**
 * The maximum number of emails per address per day, across all projects. Further invitations appear only in the
 * console.
 */
const MAX_PER_ADDRESS_AND_DAY = 5;

type Details = { projectName: string; url: string | null };

/** Queues the email about an invitation, in the transaction that creates the invitation. */
export async function writeInvitationMail(
  tx: Transaction,
  details: Details & { invitation: Invitation },
): Promise<void> {
  const { id, projectId, email, role, invitedByName, expiresAt } = details.invitation;
  await writeMail(tx, email, {
    kind: 'invitation',
    projectId,
    projectName: details.projectName,
    url: details.url,
    invitationId: id,
    role,
    invitedByName,
    expiresAt: expiresAt.toISOString(),
  });
}

/** Queues the email about an offer to transfer a project, like `writeInvitationMail`. Some members have no address. */
export async function writeOfferMail(tx: Transaction, details: Details & { transfer: ProjectTransfer }): Promise<void> {
  const { id, projectId, email, offeredByName, expiresAt } = details.transfer;
  if (email === null) return;
  await writeMail(tx, email, {
    kind: 'invitation',
    projectId,
    projectName: details.projectName,
    url: details.url,
    invitationId: id,
    role: 'OWNER',
    invitedByName: offeredByName,
    expiresAt: expiresAt.toISOString(),
  });
}

const WRITE_MAIL = statement(
  'invitation-write-mail',
  `INSERT INTO "NoticeMessage" ("id", "projectId", "channel", "recipient", "content")
   SELECT new_id('msg'), $1, 'email', $2, $3::json
   WHERE (
     SELECT count(*) FROM "Invitation" WHERE "email" = $2 AND "createdAt" > now() - interval '1 day'
   ) + (
     SELECT count(*) FROM "ProjectTransfer" WHERE "email" = $2 AND "createdAt" > now() - interval '1 day'
   ) <= $4`,
);

async function writeMail(tx: Transaction, email: string, content: MessageContent): Promise<void> {
  await executeWithPrisma(tx, WRITE_MAIL(content.projectId, email, JSON.stringify(content), MAX_PER_ADDRESS_AND_DAY));
}
