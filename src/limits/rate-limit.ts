import type pg from 'pg';
import type { Logger } from 'pino';
import type { Database } from '../database/client.ts';
import { createGcraTable, gcraParameters, gcraResult, type RateLimitResult } from './gcra.ts';

export type RateLimiter = {
  /**
   * Decides whether to allow a request, and counts it if it is allowed.
   *
   * @param key the caller; see `rateLimitScope`.
   * @param limitPerMinute requests per minute, which may all come at once. Don't call this for unlimited accounts.
   * @param cost how many requests this one counts for. Default: 1.
   */
  take(key: string, limitPerMinute: number, cost?: number): Promise<RateLimitResult>;
  /** Undoes the count of one allowed request. Pass the limit that it was counted with. */
  giveBack(key: string, limitPerMinute: number): Promise<void>;
};

const WINDOW_SECONDS = 60;
const DEFAULT_MAX_KEYS = 100_000;

/**
 * Counts only this process's requests, which is enough if there is no other process. `now` is milliseconds of a
 * monotonic clock.
 */
export function createMemoryRateLimiter(options: { now?: () => number; maxKeys?: number } = {}): RateLimiter {
  const { now = () => performance.now(), maxKeys = DEFAULT_MAX_KEYS } = options;
  const table = createGcraTable({ now, maxKeys });
  return {
    take: async (key, limitPerMinute, cost = 1) => table.take(key, limitPerMinute, cost),
    giveBack: async (key, limitPerMinute) => table.giveBack(key, limitPerMinute, 1),
  };
}

/**
 * This process's rate limiter. With `DATABASE_URL`, there may be several processes, which must share their counts.
 */
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
 * Counts the requests of all processes in the database, based on its clock. A single statement decides and counts. If
 * the database fails, `fallback` decides.
 */
export function createPostgresRateLimiter(options: { pool: pg.Pool; log: Logger; fallback: RateLimiter }): RateLimiter {
  const { pool, log, fallback } = options;
  let isFailing = false;

  async function take(key: string, limitPerMinute: number, cost = 1): Promise<RateLimitResult> {
    try {
      const result = await takeInDatabase(key, limitPerMinute, cost);
      if (isFailing) log.info('counting rate limits in the database again');
      isFailing = false;
      return result;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'the database failed; counting rate limits in memory');
      isFailing = true;
      return fallback.take(key, limitPerMinute, cost);
    }
  }

  async function takeInDatabase(key: string, limitPerMinute: number, cost: number): Promise<RateLimitResult> {
    const parameters = gcraParameters(limitPerMinute, cost);
    const taken = await pool.query<{ ahead: number }>({
      name: 'rate-limit-take',
      text: TAKE_SQL,
      values: [key, parameters.costMicroseconds, parameters.burstMicroseconds],
    });
    if (taken.rows[0]) return gcraResult(parameters, true, taken.rows[0].ahead);
    const refused = await pool.query<{ ahead: number }>({ name: 'rate-limit-read', text: READ_SQL, values: [key] });
    // A sweep may have removed the row in the meantime.
    return gcraResult(parameters, false, refused.rows[0]?.ahead ?? 0);
  }

  async function giveBack(key: string, limitPerMinute: number): Promise<void> {
    const { costMicroseconds } = gcraParameters(limitPerMinute, 1);
    try {
      await pool.query({ name: 'rate-limit-give-back', text: GIVE_BACK_SQL, values: [key, costMicroseconds] });
    } catch (error) {
      // Either the fallback allowed the request and reverts it here, or the limit refills over time.
      log.debug({ err: error }, 'could not undo the count of a request');
      await fallback.giveBack(key, limitPerMinute);
    }
  }

  return { take, giveBack };
}

// Returns no row if the request is rejected. At most `limit` requests are allowed, no matter how many arrive at once,
// because the row is locked before the condition is checked. Counters may be lost in a crash, so commits don't wait for
// the disk.
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

/**
 * Deletes expired counters and returns how many there were. Running it occasionally is enough. A delivery's slot counts
 * until the next one, which is up to 100 seconds later.
 */
export async function sweepRateLimits(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(`DELETE FROM "RateLimit" WHERE "arrivesAt" < now() - interval '2 minutes'`);
  return rowCount ?? 0;
}

/** A response's headers (draft-ietf-httpapi-ratelimit-headers, and RFC 9110 §10.2.3 for `Retry-After`). */
export function rateLimitHeaders(result: RateLimitResult): Record<string, string> {
  const { allowed, limit, remaining, resetSeconds, retryAfterSeconds } = result;
  return {
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
    ...(!allowed && { 'retry-after': String(retryAfterSeconds) }),
  };
}
