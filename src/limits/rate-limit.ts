import type pg from 'pg';
import type { Logger } from 'pino';
import type { Database } from '../database/client.ts';
import { createGcraTable, gcraResult, gcraTerms, type RateLimitResult } from './gcra.ts';

export type RateLimiter = {
  /**
   * Asks for admission of a request.
   *
   * @param key who is asking, see `rateLimitScope`.
   * @param limitPerMinute requests a minute; all of them may come at once. Do not ask for the unlimited.
   * @param cost how many requests this one counts for, 1 unless given.
   */
  take(key: string, limitPerMinute: number, cost?: number): Promise<RateLimitResult>;
  /** Gives back one request that was admitted with this limit, as if it had not been asked for. */
  giveBack(key: string, limitPerMinute: number): Promise<void>;
};

const WINDOW_SECONDS = 60;
const DEFAULT_MAX_KEYS = 100_000;

/** Counts in this process alone: enough while it is the only one. `now` is milliseconds of a clock that never steps back. */
export function createMemoryRateLimiter(options: { now?: () => number; maxKeys?: number } = {}): RateLimiter {
  const { now = () => performance.now(), maxKeys = DEFAULT_MAX_KEYS } = options;
  const table = createGcraTable({ now, maxKeys });
  return {
    take: async (key, limitPerMinute, cost = 1) => table.take(key, limitPerMinute, cost),
    giveBack: async (key, limitPerMinute) => table.giveBack(key, limitPerMinute, 1),
  };
}

/** The counter for what a process does: with a database of one's own there may be more, which have to count together. */
export function openRateLimiter({
  config,
  db,
  log,
}: {
  config: { databaseUrl?: string | undefined };
  db: Pick<Database, 'pool'>;
  log: Logger;
}): RateLimiter {
  const memory = createMemoryRateLimiter();
  return config.databaseUrl ? createPostgresRateLimiter({ pool: db.pool, log, fallback: memory }) : memory;
}

/**
 * Counts in the database, on its clock, for all processes together: one statement decides and counts. While the
 * database fails, `fallback` decides.
 */
export function createPostgresRateLimiter(options: { pool: pg.Pool; log: Logger; fallback: RateLimiter }): RateLimiter {
  const { pool, log, fallback } = options;
  let isFailing = false;

  async function take(key: string, limitPerMinute: number, cost = 1): Promise<RateLimitResult> {
    try {
      const result = await takeInDatabase(key, limitPerMinute, cost);
      if (isFailing) log.info('rate limits are counted in the database again');
      isFailing = false;
      return result;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'rate limits are counted in memory: the database failed');
      isFailing = true;
      return fallback.take(key, limitPerMinute, cost);
    }
  }

  async function takeInDatabase(key: string, limitPerMinute: number, cost: number): Promise<RateLimitResult> {
    const terms = gcraTerms(limitPerMinute, cost);
    const taken = await pool.query<{ ahead: number }>({
      name: 'rate-limit-take',
      text: TAKE_SQL,
      values: [key, terms.costMicroseconds, terms.burstMicroseconds],
    });
    if (taken.rows[0]) return gcraResult(terms, true, taken.rows[0].ahead);
    const refused = await pool.query<{ ahead: number }>({ name: 'rate-limit-read', text: READ_SQL, values: [key] });
    // Meanwhile it may have been swept away.
    return gcraResult(terms, false, refused.rows[0]?.ahead ?? 0);
  }

  async function giveBack(key: string, limitPerMinute: number): Promise<void> {
    const { costMicroseconds } = gcraTerms(limitPerMinute, 1);
    try {
      await pool.query({ name: 'rate-limit-give-back', text: GIVE_BACK_SQL, values: [key, costMicroseconds] });
    } catch (error) {
      // Without the database it was the fallback that admitted it, or it comes back with time.
      log.debug({ err: error }, 'a request was not given back to its rate limit');
      await fallback.giveBack(key, limitPerMinute);
    }
  }

  return { take, giveBack };
}

// No row comes back when the request is refused. It is admitted at most `limit` times however many ask at once, since
// the row is locked before the condition is looked at. Nothing is lost with a counter: commits need not reach the disk.
const TAKE_SQL = `
  INSERT INTO "RateLimit" AS stored (key, "arrivesAt")
  SELECT $1::text, now() + $2::float8 * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true)
  ON CONFLICT (key) DO UPDATE
     SET "arrivesAt" = greatest(stored."arrivesAt", now()) + $2::float8 * interval '1 microsecond'
   WHERE greatest(stored."arrivesAt", now()) + $2::float8 * interval '1 microsecond'
         <= now() + $3::float8 * interval '1 microsecond'
  RETURNING (extract(epoch FROM stored."arrivesAt" - now()) * 1000000)::float8 AS ahead`;

const GIVE_BACK_SQL = `
  UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - $2::float8 * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true) WHERE key = $1`;

const READ_SQL = `
  SELECT (extract(epoch FROM "arrivesAt" - now()) * 1000000)::float8 AS ahead FROM "RateLimit" WHERE key = $1`;

/** Removes the counters that say nothing any more. Now and then is often enough. Returns how many there were. */
export async function sweepRateLimits(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM "RateLimit" WHERE "arrivesAt" < now()');
  return rowCount ?? 0;
}

/** The headers of an answer (draft-ietf-httpapi-ratelimit-headers, and RFC 9110 §10.2.3 for `Retry-After`). */
export function rateLimitHeaders(result: RateLimitResult): Record<string, string> {
  const { allowed, limit, remaining, resetSeconds, retryAfterSeconds } = result;
  return {
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
    ...(!allowed && { 'retry-after': String(retryAfterSeconds) }),
  };
}
