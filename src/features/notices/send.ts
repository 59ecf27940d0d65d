import type pg from 'pg';
import type { Logger } from 'pino';
import { sharedNow } from '../../clock.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { signedWebhookHeaders } from '../../delivery/send/webhook-request.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import type { NoticeContacts } from '../../generated/prisma/client.ts';
import { takeOfDay } from '../../limits/day-limit.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { type OpenContacts, openContacts } from './contacts.ts';
import type { Mailer } from './mailer.ts';
import type { Channel, ContactContent, InvitationContent, MessageContent } from './messages.ts';
import { mailOf, slackBodyOf, webhookBodyOf } from './render.ts';

export type SendOptions = {
  egress: Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open'>;
  /** Undefined if email isn't set up on this server. */
  mailer: Mailer | undefined;
  userAgent: string;
  log: Logger;
};

export type ClaimedMessage<Content = MessageContent> = {
  id: string;
  projectId: string;
  /** The ID of the account that owns the project. Empty if the project was deleted. */
  account: string;
  channel: Channel;
  recipient: string;
  content: Content;
  attemptCount: number;
  createdAt: Date;
};

/** The message can't be sent, so retrying won't help. */
class FinalFailure extends Error {}

/** The timeout for requests to contacts' URLs. Their servers only have to store a short message. */
const TIMEOUT_MILLISECONDS = 10_000;
/**
 * The maximum number of emails per day to the contacts of an account's projects. Without this limit, an account could
 * use this server to flood strangers with email.
 */
const MAX_EMAILS_PER_DAY = 200;
const MAX_ERROR_LENGTH = 300;
/** The wait after each failed attempt. After the last one, the message isn't retried. */
const RETRY_SECONDS = [30, 120, 600, 3_600, 6 * 3_600];
const PAYLOAD_VERSION = 1;

/** Has no effect if another process has claimed the message in the meantime. */
const FINISH = statement(
  'notice-message-finish',
  `
  UPDATE "NoticeMessage" SET "sentAt" = CASE WHEN $3::text IS NULL THEN now() END, "error" = $3,
    "nextAttemptAt" = now() + make_interval(secs => $4)
  WHERE "id" = $1 AND "attemptCount" = $2`,
);

/**
 * Sends a claimed message to its recipient, and records the result. If sending fails, the message is retried later.
 *
 * @throws Error if the result can't be recorded.
 */
export async function sendMessage(pool: pg.Pool, message: ClaimedMessage, options: SendOptions): Promise<void> {
  const { id, attemptCount, channel, projectId } = message;
  try {
    await deliver(pool, message, options);
    await runStatement(pool, FINISH(id, attemptCount, null, null));
  } catch (error) {
    const isFinal = error instanceof FinalFailure || isNotAllowed(error);
    const wait = isFinal ? undefined : RETRY_SECONDS[attemptCount - 1];
    // PostgreSQL can't store NUL characters, which a mail server can quote from a login.
    const reason = (error as Error).message.replaceAll('\0', ' ').slice(0, MAX_ERROR_LENGTH).toWellFormed();
    options.log.warn({ projectId, messageId: id, channel, reason, retryInSeconds: wait }, "couldn't send a notice");
    await runStatement(pool, FINISH(id, attemptCount, reason, wait ?? null));
  }
}

async function deliver(pool: pg.Pool, message: ClaimedMessage, options: SendOptions): Promise<void> {
  const { content, channel, attemptCount, account, projectId } = message;
  if (content.kind === 'invitation') return sendInvitation(pool, { ...message, content }, options);
  if (channel === 'email' && attemptCount === 1) await requireEmailBudget(pool, account);
  const contacts = await readContacts(pool, projectId, options.secretBox);
  await CHANNELS[channel]({ ...message, content }, contacts, options);
}

const isNotAllowed = (error: unknown) => error instanceof EgressError && error.errorClass === 'target_not_allowed';

const READ_CONTACTS = statement('notice-contacts-read', 'SELECT * FROM "NoticeContacts" WHERE "id" = $1');

async function readContacts(pool: pg.Pool, projectId: string, secretBox: SendOptions['secretBox']) {
  const { rows } = await runStatement<NoticeContacts>(pool, READ_CONTACTS(projectId));
  return openContacts(secretBox, rows[0] ?? null);
}

/** The count is per account, so deleting a project doesn't reset it. Retries aren't counted again. */
async function requireEmailBudget(pool: pg.Pool, account: string): Promise<void> {
  const use = { key: `contact-emails ${account}`, limitPerDay: MAX_EMAILS_PER_DAY, amount: 1 };
  if (await takeOfDay(pool, use)) return;
  throw new FinalFailure(`The account's projects have sent ${MAX_EMAILS_PER_DAY} emails to contacts in 24 hours.`);
}

const FIND_OPEN_INVITATION = statement(
  'invitation-find-open',
  `SELECT FROM "Invitation" WHERE "id" = $1 AND "status" = 'PENDING' AND "expiresAt" > now()
   UNION ALL SELECT FROM "ProjectTransfer" WHERE "id" = $1 AND "status" = 'PENDING' AND "expiresAt" > now()`,
);

async function sendInvitation(
  pool: pg.Pool,
  { id, recipient, content }: ClaimedMessage<InvitationContent>,
  { mailer }: SendOptions,
): Promise<void> {
  const { rowCount } = await runStatement(pool, FIND_OPEN_INVITATION(content.invitationId));
  if (rowCount === 0) throw new FinalFailure('The invitation is no longer open.');
  if (!mailer) throw new FinalFailure(NO_MAILER);
  await mailer({ id, to: recipient, ...mailOf(content) });
}

const NO_MAILER = "Email isn't set up on this server.";
const REMOVED = 'The contact was removed.';

/** How to send a message to each kind of contact. Each function throws if sending fails. */
const CHANNELS: Record<
  Channel,
  (message: ClaimedMessage<ContactContent>, to: OpenContacts, options: SendOptions) => Promise<void>
> = {
  async email({ id, recipient, content }, { emails }, { mailer }) {
    if (!emails.includes(recipient)) throw new FinalFailure(REMOVED);
    if (!mailer) throw new FinalFailure(NO_MAILER);
    await mailer({ id, to: recipient, ...mailOf(content) });
  },
  async webhook({ id, content, createdAt }, { webhookUrl, webhookSecret }, options) {
    if (!webhookUrl) throw new FinalFailure(REMOVED);
    const body = webhookBodyOf(id, createdAt, content);
    const headers = signedWebhookHeaders({
      id,
      body,
      secrets: [webhookSecret],
      userAgent: options.userAgent,
      version: PAYLOAD_VERSION,
      timestampSeconds: Math.floor(sharedNow() / 1000),
    });
    await post(options.egress, webhookUrl, headers, body);
  },
  async slack({ content }, { slackUrl }, { egress, userAgent }) {
    if (!slackUrl) throw new FinalFailure(REMOVED);
    const headers = { 'content-type': 'application/json', 'user-agent': userAgent };
    await post(egress, slackUrl, headers, slackBodyOf(content));
  },
};

async function post(egress: Pick<Egress, 'send'>, url: string, headers: Record<string, string>, body: string) {
  const request = { method: 'POST', url, headers, body, timeoutMilliseconds: TIMEOUT_MILLISECONDS };
  const { statusCode } = await egress.send({ ...request, maxResponseBytes: 10_000 });
  if (statusCode < 200 || statusCode > 299) throw new Error(`The response has status ${statusCode}.`);
}
