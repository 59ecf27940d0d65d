import type { Queryable } from '../../database/client.ts';
import type { Digest } from './digest-figures.ts';
import type { NoticeText } from './types.ts';

export type Channel = 'email' | 'webhook' | 'slack';

export type ToldNotice = NoticeText & {
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

/** What a message says, without any format. `moreCount` is how many more notices there are in the console. */
export type MessageContent = { projectId: string; projectName: string; url: string | null } & (
  | { kind: 'notices'; notices: ToldNotice[]; moreCount: number }
  | { kind: 'weekly_digest'; digest: Digest }
);

/** A project's contacts, without their secrets. */
export type ContactFlags = { projectId: string; emails: string[]; hasWebhook: boolean; hasSlack: boolean };

/** The columns of `ContactFlags` in the row `c` of "NoticeContacts". */
export const CONTACT_FLAGS = `
  c."projectId", c."emails", c."webhookUrl" <> '' AS "hasWebhook", c."slackUrl" <> '' AS "hasSlack"`;
/** Whether the row `c` of "NoticeContacts" has any contact. */
export const HAS_CONTACT = `(cardinality(c."emails") > 0 OR c."webhookUrl" <> '' OR c."slackUrl" <> '')`;

/** Writes a message for every contact, so that one that fails doesn't keep the others from getting theirs. */
export async function writeMessages(
  db: Queryable,
  { projectId, emails, hasWebhook, hasSlack }: ContactFlags,
  content: MessageContent,
): Promise<void> {
  const recipients: [Channel, string][] = [
    ...emails.map((email): [Channel, string] => ['email', email]),
    ...(hasWebhook ? ([['webhook', '']] as [Channel, string][]) : []),
    ...(hasSlack ? ([['slack', '']] as [Channel, string][]) : []),
  ];
  await db.query(
    `INSERT INTO "NoticeMessage" ("id", "projectId", "channel", "recipient", "content")
     SELECT new_id('msg'), $1, channel, recipient, $4::json FROM unnest($2::text[], $3::text[]) AS to_send(channel, recipient)`,
    [projectId, recipients.map(([channel]) => channel), recipients.map(([, to]) => to), JSON.stringify(content)],
  );
}
