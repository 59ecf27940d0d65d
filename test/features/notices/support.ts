import type { MailConfig } from '../../../src/config/config.ts';
import { newWebhookSecret } from '../../../src/delivery/send/signing.ts';
import { createNoticeChecks } from '../../../src/features/notices/checks.ts';
import { contactCell } from '../../../src/features/notices/contacts.ts';
import { createMailer } from '../../../src/features/notices/mailer.ts';
import type { MessageContent, SentNotice } from '../../../src/features/notices/messages.ts';
import { createNoticeRunner } from '../../../src/features/notices/runner.ts';
import { openStage, type Row } from '../../delivery/support.ts';
import type { ReceivedRequest } from '../../support/receiver.ts';

export type NoticeStage = Awaited<ReturnType<typeof openNoticeStage>>;
type Contacts = { emails?: string[]; webhookUrl?: string; slackUrl?: string; weeklyDigest?: boolean };

/** A setup that writes, composes, and sends notices. Nothing is sent until `run` is called. */
export async function openNoticeStage() {
  const stage = await openStage();
  const { pool, secretBox, egress, log } = stage;

  /** A process that composes and sends messages. */
  const runner = (options: { mail?: MailConfig; egress?: typeof egress; log?: typeof log } = {}) =>
    createNoticeRunner({
      pool,
      secretBox,
      log,
      userAgent: 'Tollgate/test',
      egress,
      ...options,
      mailer: options.mail && createMailer(options.mail, options.egress ?? egress),
      consoleOrigin: () => 'https://tollgate.example',
    });

  return {
    ...stage,
    runner,
    async run(): Promise<void> {
      await runner().run();
    },
    check: (options: Partial<Parameters<typeof createNoticeChecks>[0]> = {}) =>
      createNoticeChecks({ retentionDays: 90, log, ...options })(pool),

    /** Sets the contacts of a project. @returns the secret of the webhook. */
    async setContacts(projectId: string, contacts: Contacts): Promise<string> {
      const secret = newWebhookSecret();
      const seal = (column: 'webhookUrl' | 'webhookSecret' | 'slackUrl', value: string | undefined) =>
        value ? secretBox.seal(value, contactCell(projectId, column)) : '';
      await pool.query(
        `INSERT INTO "NoticeContacts" ("id", "projectId", "emails", "webhookUrl", "webhookSecret", "slackUrl", "weeklyDigest")
         VALUES ($1, $1, $2, $3, $4, $5, $6)
         ON CONFLICT ("id") DO UPDATE SET "emails" = excluded."emails", "webhookUrl" = excluded."webhookUrl",
           "webhookSecret" = excluded."webhookSecret", "slackUrl" = excluded."slackUrl"`,
        [
          ...[projectId, contacts.emails ?? [], seal('webhookUrl', contacts.webhookUrl)],
          ...[seal('webhookSecret', contacts.webhookUrl && secret), seal('slackUrl', contacts.slackUrl)],
          contacts.weeklyDigest ?? true,
        ],
      );
      return secret;
    },

    async noticesOf(projectId: string): Promise<Row[]> {
      return (await pool.query('SELECT * FROM "Notice" WHERE "projectId" = $1 ORDER BY "id"', [projectId])).rows;
    },

    async messagesOf(projectId: string): Promise<(Row & { content: MessageContent })[]> {
      const sql = 'SELECT * FROM "NoticeMessage" WHERE "projectId" = $1 ORDER BY "createdAt", "id"';
      return (await pool.query(sql, [projectId])).rows;
    },

    /** Moves everything about notices into the past, as if this much time had passed. */
    async letPass(interval: string): Promise<void> {
      await pool.query(
        `UPDATE "Notice" SET "firstAt" = "firstAt" - $1::interval, "lastAt" = "lastAt" - $1::interval,
           "closedAt" = "closedAt" - $1::interval, "dueAt" = "dueAt" - $1::interval, "notifiedAt" = "notifiedAt" - $1::interval`,
        [interval],
      );
      await pool.query(`UPDATE "NoticeContacts" SET "nextMessageAt" = "nextMessageAt" - $1::interval`, [interval]);
      await pool.query(
        `UPDATE "NoticeMessage" SET "nextAttemptAt" = "nextAttemptAt" - $1::interval, "createdAt" = "createdAt" - $1::interval`,
        [interval],
      );
    },
  };
}

type SentMessage = { id: string; type: string; projectId: string; data: { notices: SentNotice[]; moreCount: number } };

/** The notices in a message to a webhook. */
export function messageIn({ body }: ReceivedRequest): SentMessage {
  return JSON.parse(body.toString()) as SentMessage;
}

/** The types of the notices in these messages, in order. */
export const sentTypes = (requests: readonly ReceivedRequest[]): string[][] =>
  requests.map((request) => messageIn(request).data.notices.map(({ type }) => type));
