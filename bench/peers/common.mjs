// The work that every peer does for a delivery: sign it, POST it through a raw undici Pool, and write an attempt row.
import { createHmac, randomUUID } from 'node:crypto';
import pg from 'pg';
import { Pool } from 'undici';

const KEY = Buffer.alloc(32, 7);

/** Counts the statements of every `pg` client in this process. */
export function countStatements() {
  let count = 0;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (...args) {
    count++;
    return query.apply(this, args);
  };
  return () => count;
}

/** The history, in a table next to the queue. */
export function createHistory(databaseUrl) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  return {
    pool,
    prepare: () =>
      pool.query(`CREATE TABLE attempt (
        id uuid PRIMARY KEY, delivery text NOT NULL, started timestamptz NOT NULL, status int, ms int, body text,
        UNIQUE (delivery, started)
      )`),
    record: (attempts) =>
      pool.query({
        name: 'attempt',
        text: `INSERT INTO attempt SELECT * FROM unnest(
          $1::uuid[], $2::text[], $3::timestamptz[], $4::int[], $5::int[], $6::text[])`,
        values: [
          attempts.map(() => randomUUID()),
          attempts.map(({ delivery }) => delivery),
          attempts.map(({ started }) => started),
          attempts.map(({ status }) => status),
          attempts.map(({ ms }) => ms),
          attempts.map(({ body }) => body),
        ],
      }),
    recorded: async () => (await pool.query('SELECT count(*)::int AS n FROM attempt')).rows[0].n,
    end: () => pool.end(),
  };
}

/** Signs and sends one delivery, and returns its attempt as a row for the history. */
export function createSender() {
  const pools = new Map();
  return async function send({ id, url, data }) {
    const { origin, pathname } = new URL(url);
    const pool = pools.get(origin) ?? new Pool(origin, { connections: 128 });
    pools.set(origin, pool);
    const started = new Date();
    const timestamp = String(Math.floor(started.getTime() / 1000));
    const body = JSON.stringify({ id, type: 'endpoint.created', timestamp: started.toISOString(), data });
    const signature = createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64');
    const answer = await pool.request({
      method: 'POST',
      path: pathname,
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode}`);
    return { delivery: id, started, status: answer.statusCode, ms: Date.now() - started.getTime(), body: text };
  };
}

/** Adds `count` deliveries in batches, spread over the destinations. */
export async function inChunks(count, urls, data, size, add) {
  for (let done = 0; done < count; done += size) {
    const length = Math.min(size, count - done);
    await add(
      Array.from({ length }, (_, index) => ({ id: randomUUID(), url: urls[(done + index) % urls.length], data })),
    );
  }
}
