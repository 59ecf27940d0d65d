import pg from 'pg';
import type { Logger } from 'pino';

/**
 * Hints between a deployment's processes: "something changed in this topic". A hint carries no data and may be lost.
 * Listeners read the database, and also check it from time to time without a hint.
 */
export type Bus = {
  /** Notifies all processes, including this one. Hints on the same topic within a few milliseconds are sent as one. */
  publish(topic: string): void;
  /** Calls back on every hint on the topic, and after a reconnect. Returns the unsubscribe function. */
  subscribe(topic: string, listener: () => void): () => void;
  close(): Promise<void>;
};

const CHANNEL = 'tollgate';
const FLUSH_MILLISECONDS = 5;
const MAX_PAYLOAD_BYTES = 7000;
const RECONNECT_MILLISECONDS = 500;

/**
 * Opens the bus on PostgreSQL LISTEN/NOTIFY. It listens on its own connection, which must not go through a pooler in
 * transaction mode, and publishes through the shared pool.
 */
export async function openBus(options: { url: string; pool: pg.Pool; log: Logger }): Promise<Bus> {
  const { pool, log } = options;
  const listeners = new Map<string, Set<() => void>>();
  const pending = new Set<string>();
  let flushTimer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let client: pg.Client | undefined;
  let closed = false;

  function wake(topic: string): void {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener();
  }

  async function connect(): Promise<void> {
    const connection = new pg.Client({ connectionString: options.url, application_name: 'tollgate-bus' });
    connection.on('notification', (message) => {
      for (const topic of (message.payload ?? '').split('\n')) wake(topic);
    });
    let lost = false;
    const onLost = () => {
      if (lost) return;
      lost = true;
      client = undefined;
      connection.end().catch(() => {});
      if (!closed) setTimeout(reconnect, RECONNECT_MILLISECONDS).unref();
    };
    connection.on('error', onLost);
    connection.on('end', onLost);
    try {
      await connection.connect();
      await connection.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      lost = true;
      connection.end().catch(() => {});
      throw error;
    }
    client = connection;
  }

  async function reconnect(): Promise<void> {
    if (closed) return;
    try {
      await connect();
      // Hints may have been lost, so every listener checks once.
      for (const topic of [...listeners.keys()]) wake(topic);
    } catch (error) {
      log.warn({ err: error }, 'bus: lost the database connection; reconnecting');
      setTimeout(reconnect, RECONNECT_MILLISECONDS).unref();
    }
  }

  async function flush(): Promise<void> {
    const topics = [...pending];
    pending.clear();
    while (topics.length > 0) {
      let payload = topics.shift()!;
      while (topics.length > 0 && payload.length + topics[0]!.length < MAX_PAYLOAD_BYTES)
        payload += `\n${topics.shift()}`;
      await pool.query('SELECT pg_notify($1, $2)', [CHANNEL, payload]);
    }
  }

  await connect();
  return {
    publish(topic) {
      if (closed) return;
      pending.add(topic);
      flushTimer ??= setTimeout(() => {
        flushTimer = undefined;
        flushing = flush().catch((error) => log.warn({ err: error }, 'bus: could not send a hint'));
      }, FLUSH_MILLISECONDS);
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
      await client?.end().catch(() => {});
    },
  };
}

/** All topics in one place, so publishers and listeners can't disagree. */
export const topics = {
  deliveriesDue: 'due',
  deliveries: (projectId: string) => `deliveries:${projectId}`,
  /** There is a replay to run. */
  replaysDue: 'replays',
  replays: (projectId: string) => `replays:${projectId}`,
  events: (projectId: string) => `events:${projectId}`,
  payments: (projectId: string) => `payments:${projectId}`,
  /** A project's endpoints, prices or wallet have changed. */
  routes: (projectId: string) => `routes:${projectId}`,
  /** Projects' host names have changed. */
  gatewayHosts: 'hosts',
  apiKeyRevoked: (apiKeyId: string) => `revoked:${apiKeyId}`,
};
