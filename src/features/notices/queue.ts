import type pg from 'pg';
import { DUE } from '../../database/due.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { type ClaimedMessage, type SendOptions, sendMessage } from './send.ts';
import { createSlowAccounts } from './slow-accounts.ts';

export type QueueOptions = SendOptions & {
  pool: pg.Pool;
  signal: AbortSignal;
  /** Whether nothing may be sent now. */
  isOnHold?: () => boolean;
};

/**
 * Emails go to the operator's mail server, so they never wait for the servers that sellers choose. Accounts with slow
 * contacts have their own slots (`slowAtOnce`), so they delay only each other.
 */
const CHANNELS = [
  { isEmail: true, atOnce: 10, slowAtOnce: 0 },
  { isEmail: false, atOnce: 40, slowAtOnce: 10 },
];
/** The limit per channel, so that an account's own messages can't fill the channel. */
const AT_ONCE_PER_ACCOUNT = 2;
/** Longer than an attempt takes. If the process dies, another one sends the message again after this time. */
const LEASE_SECONDS = 60;

/** The column is text. */
type StoredMessage = Omit<ClaimedMessage, 'channel'> & { channel: string };

/**
 * Claims the message that has been due the longest, of the accounts in $2 or, if $3 is false, of all others. A row that
 * another process is claiming is skipped.
 */
const CLAIM = statement(
  'notice-messages-claim',
  `
  WITH due AS MATERIALIZED (
    SELECT m."id", coalesce(p."userId", '') AS "account"
    FROM "NoticeMessage" m LEFT JOIN "Project" p ON p."id" = m."projectId"
    WHERE m."nextAttemptAt" <= ${DUE} AND (m."channel" = 'email') = $1 AND (coalesce(p."userId", '') = ANY ($2::text[])) = $3
    ORDER BY m."nextAttemptAt" LIMIT 1 FOR UPDATE OF m SKIP LOCKED
  )
  UPDATE "NoticeMessage" m SET "attemptCount" = m."attemptCount" + 1,
    "nextAttemptAt" = now() + interval '${LEASE_SECONDS} seconds'
  FROM due WHERE m."id" = due."id"
  RETURNING m."id", m."projectId", due."account", m."channel", m."recipient", m."content", m."attemptCount", m."createdAt"`,
);

/**
 * Sends the messages that are due. Each is sent by one process at a time, and independently of the others. If the
 * process dies while sending a message, that message is sent again.
 *
 * @param options once `signal` is aborted, nothing more is sent.
 */
export function createMessageQueue(options: QueueOptions) {
  const channels = CHANNELS.map((channel) => openChannel(options, channel));
  return {
    /** Starts sending due messages, without waiting for the responses. The rest are sent when slots become free. */
    async start(): Promise<void> {
      await Promise.all(channels.map(({ fill }) => fill()));
    },
    /** Waits for messages that are being sent. */
    async settled(): Promise<void> {
      await Promise.all(channels.map(({ settled }) => settled()));
    },
  };
}

function openChannel(
  { pool, signal, isOnHold = () => false, ...options }: QueueOptions,
  { isEmail, atOnce, slowAtOnce }: (typeof CHANNELS)[number],
) {
  /** The messages that are being sent, with their accounts. */
  const sending = new Map<Promise<void>, string>();
  const slowAccounts = createSlowAccounts();
  let filling: Promise<void> = Promise.resolve();

  const onError = (error: unknown) =>
    options.log.warn({ err: error }, "couldn't send notices; the next round will retry");

  /** Claims run one after another, because each depends on which messages are being sent. */
  function fill(): Promise<void> {
    filling = filling.then(claimDue).catch(onError);
    return filling;
  }

  async function claimDue(): Promise<void> {
    while (inFlight(false) < atOnce && (await claim([...slowAccounts.list(), ...fullAccounts()], false)));
    while (inFlight(true) < slowAtOnce && (await claim(slowWithCapacity(), true)));
  }

  function inFlight(isSlow: boolean): number {
    return [...sending.values()].filter((account) => slowAccounts.has(account) === isSlow).length;
  }

  function fullAccounts(): string[] {
    const byAccount = Map.groupBy(sending.values(), (account) => account);
    return [...byAccount].flatMap(([account, { length }]) => (length < AT_ONCE_PER_ACCOUNT ? [] : account));
  }

  function slowWithCapacity(): string[] {
    const full = new Set(fullAccounts());
    return slowAccounts.list().filter((account) => !full.has(account));
  }

  /** Starts sending a message of these accounts or, if `isOneOf` is false, of others. Returns false if none is due. */
  async function claim(accounts: string[], isOneOf: boolean): Promise<boolean> {
    if (signal.aborted || isOnHold() || (isOneOf && accounts.length === 0)) return false;
    const { rows } = await runStatement<StoredMessage>(pool, CLAIM(isEmail, accounts, isOneOf));
    const message = rows[0] as ClaimedMessage | undefined;
    if (message) send(message);
    return message !== undefined;
  }

  function send(message: ClaimedMessage): void {
    const { account, projectId } = message;
    const onSlow = () => {
      options.log.info(
        { account, projectId },
        "a contact takes a long time to respond; its account's notices may be delayed",
      );
      void fill();
    };
    const egress: SendOptions['egress'] = {
      send: (request) => slowAccounts.watch(account, options.egress.send(request), onSlow),
    };
    const sent = sendMessage(pool, message, { ...options, egress })
      .catch(onError)
      .finally(() => {
        sending.delete(sent);
        void fill();
      });
    sending.set(sent, account);
  }

  async function settled(): Promise<void> {
    await filling;
    while (sending.size > 0) {
      await Promise.race(sending.keys());
      await filling;
    }
  }

  return { fill, settled };
}
