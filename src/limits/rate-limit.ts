import type pg from 'pg';
import type { Logger } from 'pino';
import { deleteWhere, deletionStatement } from '../database/batches.ts';
import type { Database, Queryable } from '../database/client.ts';
import { preparedStatement, runStatement } from '../database/statement.ts';
import { createLru } from '../lru.ts';
import { createFairQueue } from './fair-queue.ts';
import { createGcraTable, type GcraParameters, gcraParameters, gcraResult, type RateLimitResult } from './gcra.ts';

export type RateLimiter = {
  /**
   * Decides whether to allow a request, and counts it if it is allowed.
   *
   * @param key the caller; see `rateLimitScope`.
   * @param limitPerMinute requests per minute, all of which may arrive at the same time. Don't call this for unlimited
   *   accounts.
   * @param cost how many requests this one counts for. Default: 1.
   */
  take(key: string, limitPerMinute: number, cost?: number): Promise<RateLimitResult>;
  /**
   * Counts a request that can't be rejected anymore, even if it is above the limit. If it is, later requests are
   * rejected for longer, but never for more than a minute.
   *
   * @returns `allowed`: whether it was within the limit.
   */
  record(key: string, limitPerMinute: number): Promise<RateLimitResult>;
  /** Undoes the count of one allowed request. Pass the limit that it was counted with. */
  giveBack(key: string, limitPerMinute: number): Promise<void>;
};

const WINDOW_SECONDS = 60;
const DEFAULT_MAX_KEYS = 100_000;
const CONNECTIONS_PER_KEY = 2;
/** Above this number, the oldest refusals are forgotten, and the database is asked again. */
const MAX_REFUSED = 50_000;

/**
 * Counts only this process's requests, which is enough if there is no other process. `now` returns the time of a
 * monotonic clock, in milliseconds.
 */
export function createMemoryRateLimiter(
  options: { now?: (() => number) | undefined; maxKeys?: number } = {},
): RateLimiter {
  const { now = () => performance.now(), maxKeys = DEFAULT_MAX_KEYS } = options;
  const table = createGcraTable({ now, maxKeys });
  return {
    take: async (key, limitPerMinute, cost = 1) => table.take(key, limitPerMinute, cost),
    record: async (key, limitPerMinute) => table.record(key, limitPerMinute),
    giveBack: async (key, limitPerMinute) => table.giveBack(key, limitPerMinute, 1),
  };
}

/**
 * This process's rate limiter. If `DATABASE_URL` is set, there may be several processes, which must share their counts.
 */
export function openRateLimiter({
  config,
  db,
  log,
  overrides,
}: {
  config: { databaseUrl?: string | undefined };
  db: Pick<Database, 'pool'>;
  log: Logger;
  overrides: { rateLimitNow?: () => number };
}): RateLimiter {
  const { rateLimitNow: now } = overrides;
  const memory = createMemoryRateLimiter(now && { now });
  return config.databaseUrl ? createPostgresRateLimiter({ pool: db.pool, log, fallback: memory }) : memory;
}

/**
 * Counts the requests of all processes in the database, based on its clock. A single statement decides and counts. If
 * the database fails, `fallback` decides. `now` returns the time of a monotonic clock, in milliseconds.
 */
export function createPostgresRateLimiter(options: {
  pool: pg.Pool;
  log: Logger;
  fallback: RateLimiter;
  now?: () => number;
}): RateLimiter {
  const { pool, log, fallback, now = () => performance.now() } = options;
  /**
   * The theoretical arrival times of keys that were refused, in microseconds on `now`. Until a request could be allowed
   * again, a flood is refused without asking the database.
   */
  const arrivals = createLru<number>(MAX_REFUSED);
  // A key's statements wait for its row anyway. Without a queue, they could wait with all of the connections.
  const turns = createFairQueue({ perAccount: CONNECTIONS_PER_KEY, perProcess: Infinity });
  let isFailing = false;

  async function orElse(
    key: string,
    inMemory: () => Promise<RateLimitResult>,
    inDatabase: () => Promise<RateLimitResult>,
  ): Promise<RateLimitResult> {
    try {
      const result = await turns.run(key, inDatabase);
      if (isFailing) log.info('counting rate limits in the database again');
      isFailing = false;
      return result;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'the database failed; counting rate limits in memory');
      isFailing = true;
      return inMemory();
    }
  }

  /** Arrival times never move back, except in `giveBack`, so what was refused is refused until enough time has passed. */
  function knownRefusal(key: string, parameters: GcraParameters): RateLimitResult | undefined {
    const ahead = (arrivals.get(key) ?? 0) - now() * 1000;
    if (ahead <= 0) return void arrivals.delete(key);
    const isRefused = ahead + parameters.costMicroseconds > parameters.burstMicroseconds;
    return isRefused ? gcraResult(parameters, false, ahead) : undefined;
  }

  async function takeInDatabase(key: string, limitPerMinute: number, cost: number): Promise<RateLimitResult> {
    const parameters = gcraParameters(limitPerMinute, cost);
    const known = knownRefusal(key, parameters);
    if (known) return known;
    const taken = await runStatement<{ ahead: number }>(
      pool,
      TAKE_SQL(key, parameters.costMicroseconds, parameters.burstMicroseconds),
    );
    if (taken.rows[0]) return gcraResult(parameters, true, taken.rows[0].ahead);
    // The database reads its clock later than this, so the arrival time here is never too late.
    const askedAt = now();
    const refused = await runStatement<{ ahead: number }>(pool, READ_SQL(key));
    // A sweep may have removed the row in the meantime.
    const ahead = refused.rows[0]?.ahead ?? 0;
    arrivals.set(key, askedAt * 1000 + ahead);
    return gcraResult(parameters, false, ahead);
  }

  async function recordInDatabase(key: string, limitPerMinute: number): Promise<RateLimitResult> {
    const parameters = gcraParameters(limitPerMinute, 1);
    const askedAt = now();
    const { rows } = await runStatement<{ ahead: number }>(
      pool,
      RECORD_SQL(key, parameters.costMicroseconds, parameters.maxAheadMicroseconds),
    );
    const { ahead } = rows[0]!;
    if (arrivals.has(key)) arrivals.set(key, askedAt * 1000 + ahead);
    return gcraResult(parameters, ahead <= parameters.burstMicroseconds, ahead);
  }

  async function giveBack(key: string, limitPerMinute: number): Promise<void> {
    const { costMicroseconds } = gcraParameters(limitPerMinute, 1);
    arrivals.delete(key);
    try {
      await turns.run(key, () => runStatement(pool, GIVE_BACK_SQL(key, costMicroseconds)));
    } catch (error) {
      // Either the fallback allowed the request and reverts it here, or the limit refills over time.
      log.debug({ err: error }, 'could not refund a request to its rate limit');
      await fallback.giveBack(key, limitPerMinute);
    }
  }

  return {
    take: (key, limitPerMinute, cost = 1) =>
      orElse(
        key,
        () => fallback.take(key, limitPerMinute, cost),
        () => takeInDatabase(key, limitPerMinute, cost),
      ),
    record: (key, limitPerMinute) =>
      orElse(
        key,
        () => fallback.record(key, limitPerMinute),
        () => recordInDatabase(key, limitPerMinute),
      ),
    giveBack,
  };
}

/** Counts one use toward a limit that all processes share. @returns whether it is within the limit. */
export async function takeOfMinute(db: Queryable, key: string, limitPerMinute: number): Promise<boolean> {
  const { costMicroseconds, burstMicroseconds } = gcraParameters(limitPerMinute, 1);
  const values = [key, costMicroseconds, burstMicroseconds] as const;
  return (await runStatement(db, TAKE_SQL(...values))).rows.length === 1;
}

// Returns no row if the request is rejected. At most `limit` requests are allowed, no matter how many arrive at the
// same time, because the row is locked before the condition is checked. Counters may be lost in a crash, so commits
// don't wait for the disk.
const TAKE_SQL = preparedStatement(
  'rate-limit-take',
  `
  INSERT INTO "RateLimit" AS stored (key, "arrivesAt")
  SELECT $1::text, now() + $2::float8 * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true)
  ON CONFLICT (key) DO UPDATE
     SET "arrivesAt" = greatest(stored."arrivesAt", now()) + $2::float8 * interval '1 microsecond'
   WHERE greatest(stored."arrivesAt", now()) + $2::float8 * interval '1 microsecond'
         <= now() + $3::float8 * interval '1 microsecond'
  RETURNING (extract(epoch FROM stored."arrivesAt" - now()) * 1000000)::float8 AS ahead`,
);

const RECORD_SQL = preparedStatement(
  'rate-limit-record',
  `
  INSERT INTO "RateLimit" AS stored (key, "arrivesAt")
  SELECT $1::text, now() + $2::float8 * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true)
  ON CONFLICT (key) DO UPDATE
     SET "arrivesAt" = least(greatest(stored."arrivesAt", now()) + $2::float8 * interval '1 microsecond',
                             now() + $3::float8 * interval '1 microsecond')
  RETURNING (extract(epoch FROM stored."arrivesAt" - now()) * 1000000)::float8 AS ahead`,
);

export const GIVE_BACK_SQL = preparedStatement(
  'rate-limit-give-back',
  `
  UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - $2::float8 * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true) WHERE key = $1`,
);

export const READ_SQL = preparedStatement(
  'rate-limit-read',
  `
  SELECT (extract(epoch FROM "arrivesAt" - now()) * 1000000)::float8 AS ahead FROM "RateLimit" WHERE key = $1`,
);

/**
 * Deletes expired counters and returns how many there were. Running it occasionally is enough. A delivery's slot counts
 * until the next one, which is up to 100 seconds later.
 */
export async function sweepRateLimits(pool: pg.Pool): Promise<number> {
  return deleteWhere(pool, DELETE_EXPIRED);
}

/**
 * A response's headers (draft-ietf-httpapi-ratelimit-headers, and RFC 9110 §10.2.3 for `Retry-After`).
 *
 * @param policy the name of the limit that the request counted toward.
 */
export function rateLimitHeaders(result: RateLimitResult, policy = 'default'): Record<string, string> {
  const { allowed, limit, remaining, resetSeconds, retryAfterSeconds } = result;
  return {
    'ratelimit-policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
    ...(!allowed && { 'retry-after': String(retryAfterSeconds) }),
  };
}

const DELETE_EXPIRED = deletionStatement(
  'rate-limits-delete-expired',
  'RateLimit',
  `"arrivesAt" < now() - interval '2 minutes'`,
);
