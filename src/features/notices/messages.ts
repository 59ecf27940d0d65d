import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { Digest } from './digest-figures.ts';
import type { NoticeText } from './types.ts';

export type Channel = 'email' | 'webhook' | 'slack';

export type SentNotice = NoticeText & {
  id: string;
  type: string;
  subjectId: string;
  subject: string;
  detail: string | null;
  count: number;
  firstAt: string;
  lastAt: string;
  /** The console page that shows the cause. Null if the console's address isn't known. */
  url: string | null;
};

type OfProject = { projectId: string; projectName: string; url: string | null };

/** The content of a message to a contact, without formatting. `moreCount` is how many more notices there are in the console. */
export type ContactContent = OfProject &
  ({ kind: 'notices'; notices: SentNotice[]; moreCount: number } | { kind: 'weekly_digest'; digest: Digest });

/**
 * An email to someone who isn't a contact. `url` is where they can respond. If the role is `OWNER`, the email offers them the
 * project, and `invitationId` is the ID of that offer.
 */
export type InvitationContent = OfProject & {
  kind: 'invitation';
  invitationId: string;
  role: string;
  invitedByName: string;
  expiresAt: string;
};

export type MessageContent = ContactContent | InvitationContent;

/** A project's contacts, without their secrets. */
export type ContactFlags = { projectId: string; emails: string[]; hasWebhook: boolean; hasSlack: boolean };

/** The columns of `ContactFlags` in the row `c` of "NoticeContacts". */
export const CONTACT_FLAGS = `
  c."projectId", c."emails", c."webhookUrl" <> '' AS "hasWebhook", c."slackUrl" <> '' AS "hasSlack"`;
/** Whether row `c` of "NoticeContacts" has any contacts. */
export const HAS_CONTACT = `(cardinality(c."emails") > 0 OR c."webhookUrl" <> '' OR c."slackUrl" <> '')`;

const WRITE_MESSAGES = statement(
  'notice-messages-write',
  `INSERT INTO "NoticeMessage" ("id", "projectId", "channel", "recipient", "content")
   SELECT new_id('msg'), $1, channel, recipient, $4::json FROM unnest($2::text[], $3::text[]) AS to_send(channel, recipient)`,
);

/** Writes a separate message for every contact, so that if one fails, the others still get theirs. */
export async function writeMessages(
  db: Queryable,
  { projectId, emails, hasWebhook, hasSlack }: ContactFlags,
  content: ContactContent,
): Promise<void> {
  const recipients: [Channel, string][] = [
    ...emails.map((email): [Channel, string] => ['email', email]),
    ...(hasWebhook ? ([['webhook', '']] as [Channel, string][]) : []),
    ...(hasSlack ? ([['slack', '']] as [Channel, string][]) : []),
  ];
  await runStatement(
    db,
    WRITE_MESSAGES(
      projectId,
      recipients.map(([channel]) => channel),
      recipients.map(([, to]) => to),
      JSON.stringify(content),
    ),
  );
}
