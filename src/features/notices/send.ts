import type pg from 'pg';
import type { Logger } from 'pino';
import { signedWebhookHeaders } from '../../delivery/send/webhook-request.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import type { NoticeContacts } from '../../generated/prisma/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { type OpenContacts, openContacts } from './contacts.ts';
import type { Mailer } from './mailer.ts';
import type { Channel, MessageContent } from './messages.ts';
import { mailOf, slackBodyOf, webhookBodyOf } from './render.ts';

export type SendOptions = {
  egress: Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open'>;
  /** Undefined if email isn't set up on this server. */
  mailer: Mailer | undefined;
  userAgent: string;
  log: Logger;
};

type ClaimedMessage = {
  id: string;
  projectId: string;
  channel: Channel;
  recipient: string;
  content: MessageContent;
  attemptCount: number;
  createdAt: Date;
};

/** The message can't be sent, no matter how often it is tried. */
class FinalFailure extends Error {}

const AT_ONCE = 10;
/** Longer than an attempt takes. If the process dies, another one sends the message again after this time. */
const LEASE_SECONDS = 60;
const TIMEOUT_MILLISECONDS = 15_000;
const MAX_ERROR_LENGTH = 300;
/** The wait after each failed attempt. After the last one, the message is given up. */
const RETRY_SECONDS = [30, 120, 600, 3_600, 6 * 3_600];
const PAYLOAD_VERSION = 1;

/** A row that another process is claiming is skipped. */
const CLAIM = `
  UPDATE "NoticeMessage" SET "attemptCount" = "attemptCount" + 1, "nextAttemptAt" = now() + interval '${LEASE_SECONDS} seconds'
  WHERE "id" = ANY (ARRAY(
    SELECT "id" FROM "NoticeMessage" WHERE "nextAttemptAt" <= now() ORDER BY "nextAttemptAt" LIMIT ${AT_ONCE}
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING "id", "projectId", "channel", "recipient", "content", "attemptCount", "createdAt"`;

/** Has no effect if another process has claimed the message in the meantime. */
const FINISH = `
  UPDATE "NoticeMessage" SET "sentAt" = CASE WHEN $3::text IS NULL THEN now() END, "error" = $3,
    "nextAttemptAt" = now() + make_interval(secs => $4)
  WHERE "id" = $1 AND "attemptCount" = $2`;

/**
 * Sends the messages that are due. Each is sent by one process at a time, and independently of the others. If the
 * process dies while it sends one, that message is sent again.
 *
 * @returns how many were sent.
 */
export async function sendDueMessages(pool: pg.Pool, options: SendOptions): Promise<number> {
  let count = 0;
  for (;;) {
    const { rows } = await pool.query<ClaimedMessage>(CLAIM);
    const sent = await Promise.all(rows.map((message) => sendOne(pool, message, options)));
    count += sent.filter(Boolean).length;
    if (rows.length < AT_ONCE) return count;
  }
}

async function sendOne(pool: pg.Pool, message: ClaimedMessage, options: SendOptions): Promise<boolean> {
  const { id, attemptCount, channel, projectId } = message;
  try {
    const contacts = await readContacts(pool, projectId, options.secretBox);
    await CHANNELS[channel](message, contacts, options);
    await pool.query(FINISH, [id, attemptCount, null, null]);
    return true;
  } catch (error) {
    const isFinal = error instanceof FinalFailure || isNotAllowed(error);
    const wait = isFinal ? undefined : RETRY_SECONDS[attemptCount - 1];
    const reason = (error as Error).message.slice(0, MAX_ERROR_LENGTH);
    options.log.warn({ projectId, messageId: id, channel, reason, retryInSeconds: wait }, "couldn't send a notice");
    await pool.query(FINISH, [id, attemptCount, reason, wait ?? null]);
    return false;
  }
}

const isNotAllowed = (error: unknown) => error instanceof EgressError && error.errorClass === 'target_not_allowed';

async function readContacts(pool: pg.Pool, projectId: string, secretBox: SendOptions['secretBox']) {
  const { rows } = await pool.query<NoticeContacts>('SELECT * FROM "NoticeContacts" WHERE "id" = $1', [projectId]);
  return openContacts(secretBox, rows[0] ?? null);
}

const REMOVED = 'The contact was removed.';

/** How a message gets to each kind of contact. Throws if it doesn't. */
const CHANNELS: Record<Channel, (message: ClaimedMessage, to: OpenContacts, options: SendOptions) => Promise<void>> = {
  async email({ id, recipient, content }, { emails }, { mailer }) {
    if (!emails.includes(recipient)) throw new FinalFailure(REMOVED);
    if (!mailer) throw new FinalFailure("Email isn't set up on this server.");
    await mailer({ id, to: recipient, ...mailOf(content) });
  },
  async webhook({ id, content, createdAt }, { webhookUrl, webhookSecret }, options) {
    if (!webhookUrl) throw new FinalFailure(REMOVED);
    const body = webhookBodyOf(id, createdAt, content);
    const headers = signedWebhookHeaders({
      ...{ id, body, secrets: [webhookSecret], userAgent: options.userAgent, version: PAYLOAD_VERSION },
      timestampSeconds: Math.floor(Date.now() / 1000),
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
