import pg from 'pg';
import type { Logger } from 'pino';
import { runStatement, statement } from '../database/statement.ts';
import { requireMember } from '../library-member.ts';
import { outsideOperation } from '../operation.ts';

/**
 * Hints between a deployment's processes: "something changed in this topic". A hint carries no data and may be lost.
 * Listeners read the database, and also poll it in case a hint was lost.
 */
export type Bus = {
  /** Notifies all processes, including this one. Hints on the same topic within a few milliseconds are combined. */
  publish(topic: string): void;
  /**
   * Like `publish`, but calls this process's listeners before it returns, so that this process stops using outdated
   * data immediately.
   */
  publishHereFirst(topic: string): void;
  /** Calls the listener on every hint on the topic and after a reconnect. Returns a function that unsubscribes. */
  subscribe(topic: string, listener: HintListener): () => void;
  close(): Promise<void>;
};

/**
 * @param turn a number that is the same in all listening processes, so that they can take turns. A publishing process
 *   increases it with each notification. Undefined after a reconnect.
 */
type HintListener = (turn?: number) => void;

const CHANNEL = 'tollgate';
const FLUSH_MILLISECONDS = 5;
const MAX_PAYLOAD_BYTES = 7000;
/** The time before the first attempt to reconnect. It doubles with each attempt, up to the maximum. */
const MIN_BACKOFF_MILLISECONDS = 250;
const MAX_BACKOFF_MILLISECONDS = 2_000;
// A connection that a proxy or a firewall has silently dropped looks open forever.
const HEARTBEAT_MILLISECONDS = 5_000;
const CONNECT_TIMEOUT_MILLISECONDS = 10_000;
/** Marks the line in a notification that contains the turn. */
const TURN_MARK = '#';

const NOTIFY = statement('bus-notify', 'SELECT pg_notify($1, $2)');

/**
 * Opens the bus on PostgreSQL LISTEN/NOTIFY. It publishes through the shared pool. It listens on a separate connection
 * directly to the server, because listening needs a session.
 */
export async function openBus(options: {
  /** Points to the PostgreSQL server itself, not to a pooler. */
  url: string;
  pool: pg.Pool;
  log: Logger;
  heartbeatMilliseconds?: number;
}): Promise<Bus> {
  const { pool, log, heartbeatMilliseconds = HEARTBEAT_MILLISECONDS } = options;
  const listeners = new Map<string, Set<HintListener>>();
  const pending = new Set<string>();
  let flushTimer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let client: pg.Client | undefined;
  /** The connection that is being opened. */
  let opening: pg.Client | undefined;
  let closed = false;
  /** How many attempts to reconnect have failed in a row. */
  let failures = 0;
  // Starts at random, so that publishing processes don't all start with the same listening process.
  let turn = Math.floor(Math.random() * 1_000_000);

  function wake(topic: string, ofTurn?: number): void {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener(ofTurn);
  }

  function onNotification({ payload = '' }: pg.Notification): void {
    const lines = payload.split('\n');
    const mark = lines[0]!.startsWith(TURN_MARK) ? lines.shift()! : undefined;
    for (const topic of lines) wake(topic, mark === undefined ? undefined : Number(mark.slice(TURN_MARK.length)));
  }

  async function connect(): Promise<void> {
    const connection = new pg.Client({
      connectionString: options.url,
      application_name: 'tollgate-bus',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MILLISECONDS,
    });
    requireMember('pg 8.23.1', connection, 'connection.stream.destroy');
    opening = connection;
    connection.on('notification', onNotification);
    let heartbeat: NodeJS.Timeout | undefined;
    let lost = false;
    const onLost = () => {
      if (lost) return;
      lost = true;
      clearTimeout(heartbeat);
      connection.end().catch(() => {});
      destroySocket(connection);
      // If the connection was never open, the caller tries again.
      if (client !== connection) return;
      client = undefined;
      reconnectLater();
    };
    connection.on('error', onLost);
    connection.on('end', onLost);
    const beat = async () => {
      const deadline = setTimeout(onLost, heartbeatMilliseconds).unref();
      await connection.query('SELECT 1').catch(onLost);
      clearTimeout(deadline);
      if (!lost) heartbeat = setTimeout(beat, heartbeatMilliseconds).unref();
    };
    try {
      await connection.connect();
      await connection.query(`LISTEN ${CHANNEL}`);
      if (lost) throw new Error('The connection was closed.');
    } catch (error) {
      onLost();
      throw error;
    } finally {
      opening = undefined;
    }
    client = connection;
    heartbeat = setTimeout(beat, heartbeatMilliseconds).unref();
  }

  /** At most one attempt is scheduled: the first by a lost connection, and each further one by a failed attempt. */
  function reconnectLater(): void {
    if (closed) return;
    const backoff = Math.min(MIN_BACKOFF_MILLISECONDS * 2 ** failures, MAX_BACKOFF_MILLISECONDS);
    // Processes that lost their connections at the same time don't all reconnect at the same time.
    setTimeout(reconnect, backoff * (0.75 + Math.random() / 2)).unref();
  }

  async function reconnect(): Promise<void> {
    if (closed) return;
    try {
      await connect();
      failures = 0;
      log.info('bus: connected to the database again');
      // Hints may have been lost, so every listener checks once.
      for (const topic of [...listeners.keys()]) wake(topic);
    } catch (error) {
      if (closed) return;
      failures += 1;
      log.warn({ err: error }, 'bus: lost the database connection; reconnecting');
      reconnectLater();
    }
  }

  async function flush(): Promise<void> {
    const topics = [...pending];
    pending.clear();
    while (topics.length > 0) {
      turn += 1;
      let payload = `${TURN_MARK}${turn}\n${topics.shift()}`;
      while (topics.length > 0 && payload.length + topics[0]!.length < MAX_PAYLOAD_BYTES)
        payload += `\n${topics.shift()}`;
      await runStatement(pool, NOTIFY(CHANNEL, payload));
    }
  }

  function publish(topic: string): void {
    if (closed) return;
    pending.add(topic);
    flushTimer ??= outsideOperation(() => setTimeout(flushLater, FLUSH_MILLISECONDS));
  }

  function flushLater(): void {
    flushTimer = undefined;
    flushing = flush().catch((error) => log.warn({ err: error }, "bus: couldn't send a hint"));
  }

  await connect();
  return {
    publish,
    publishHereFirst(topic) {
      outsideOperation(() => wake(topic));
      publish(topic);
    },
    subscribe(topic, listener) {
      const set = listeners.get(topic) ?? new Set();
      listeners.set(topic, set.add(listener));
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(topic) === set) listeners.delete(topic);
      };
    },
    async close() {
      clearTimeout(flushTimer);
      await flushing;
      await flush().catch(() => {});
      closed = true;
      listeners.clear();
      if (opening) destroySocket(opening);
      await client?.end().catch(() => {});
    },
  };
}

/**
 * `end` waits until the server closes the connection, which never happens if the connection is dead. The driver has no
 * public way to close the socket.
 */
function destroySocket(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** All topics in one place, so publishers and listeners can't disagree. */
export const topics = {
  deliveriesDue: 'due',
  /** A destination's rate limit has changed, or a request that must not overlap with others has ended. */
  paces: 'paces',
  deliveries: (projectId: string) => `deliveries:${projectId}`,
  /** An operator has put the installation on hold, or adopted it. */
  installation: 'installation',
  /** There is a replay to run. */
  replaysDue: 'replays',
  /** A deleted resource has history to clear. */
  deletions: 'deletions',
  replays: (projectId: string) => `replays:${projectId}`,
  /** Sent by a database trigger. */
  notices: (projectId: string) => `notices:${projectId}`,
  events: (projectId: string) => `events:${projectId}`,
  payments: (projectId: string) => `payments:${projectId}`,
  /** A project's endpoints, prices, or wallet have changed. */
  routes: (projectId: string) => `routes:${projectId}`,
  /** Projects' host names have changed. */
  gatewayHosts: 'hosts',
  /** A person has gained or lost access to a shared project, or has a new role in one. */
  membershipsChanged: (userId: string) => `memberships:${userId}`,
  apiKeyRevoked: (apiKeyId: string) => `revoked:${apiKeyId}`,
  accountBlocked: (userId: string) => `blocked:${userId}`,
};
