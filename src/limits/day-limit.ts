import type { Queryable } from '../database/client.ts';
import { preparedStatement, runStatement } from '../database/statement.ts';
import { AppError } from '../errors.ts';
import { GIVE_BACK_SQL, READ_SQL } from './rate-limit.ts';

export const DAY_SECONDS = 24 * 3_600;
const DAY_MICROSECONDS = DAY_SECONDS * 1_000_000;

/** Part of a limit that refills evenly over 24 hours and is shared by all processes. */
export type DayUse = { key: string; limitPerDay: number; amount: number };

const dayCost = ({ limitPerDay, amount }: DayUse) => amount * Math.max(1, Math.floor(DAY_MICROSECONDS / limitPerDay));

/** Sorted, so that all processes lock the rows in the same order. */
function columnsOf(uses: readonly DayUse[]): [keys: string[], costs: number[]] {
  const sorted = uses.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  return [sorted.map(({ key }) => key), sorted.map(dayCost)];
}

/**
 * Counts each use toward its own limit, in one statement. The keys must differ.
 *
 * @returns the keys whose use is within the limit. The others aren't counted.
 */
export async function takeEachOfDay(db: Queryable, uses: readonly DayUse[]): Promise<ReadonlySet<string>> {
  const values = [...columnsOf(uses), DAY_MICROSECONDS] as const;
  const { rows } = await runStatement<{ key: string }>(db, TAKE_DAY_SQL(...values));
  return new Set(rows.map(({ key }) => key));
}

/** Counts one use, like `takeEachOfDay`. @returns whether it is within the limit. */
export async function takeOfDay(db: Queryable, use: DayUse): Promise<boolean> {
  return (await takeEachOfDay(db, [use])).size === 1;
}

/**
 * Counts uses that can't be rejected anymore, even if they are above their limits. The keys must differ.
 *
 * @param maxWaitSeconds how long such uses can keep others waiting.
 * @returns the seconds until each limit is completely unused. Above a day, it is exceeded.
 */
export async function recordEachOfDay(
  db: Queryable,
  uses: readonly DayUse[],
  maxWaitSeconds: number,
): Promise<ReadonlyMap<string, number>> {
  const maxAhead = DAY_MICROSECONDS + maxWaitSeconds * 1_000_000;
  const values = [...columnsOf(uses), maxAhead] as const;
  const { rows } = await runStatement<{ key: string; ahead: number }>(db, RECORD_DAY_SQL(...values));
  return new Map(rows.map(({ key, ahead }) => [key, ahead / 1_000_000]));
}

/** Undoes the count of a use that was within its limit. */
export async function giveBackOfDay(db: Queryable, use: DayUse): Promise<void> {
  await runStatement(db, GIVE_BACK_SQL(use.key, dayCost(use)));
}

/**
 * Counts a use of a change that is about to be made. If there is nothing to count, there is no statement.
 *
 * @param limitReached the error to throw if too little is left.
 * @returns handles the change's error: undoes the count if nothing was stored, and throws the error.
 */
export async function takeForChange(
  db: Queryable,
  use: DayUse,
  limitReached: (left: number) => AppError,
): Promise<(error: unknown) => Promise<never>> {
  const isCounted = use.amount > 0;
  if (isCounted && !(await takeOfDay(db, use))) throw limitReached(await leftOfDay(db, use));
  return async (error) => {
    // After any other error, the change may have been stored.
    const isRejected = error instanceof AppError && error.code !== 'OUTCOME_UNCERTAIN';
    if (isCounted && isRejected) await giveBackOfDay(db, use);
    throw error;
  };
}

/** How much of a limit is left. */
export async function leftOfDay(db: Queryable, { key, limitPerDay }: Omit<DayUse, 'amount'>): Promise<number> {
  const { rows } = await runStatement<{ ahead: number }>(db, READ_SQL(key));
  const ahead = Math.max(0, rows[0]?.ahead ?? 0);
  return Math.max(0, Math.floor((DAY_MICROSECONDS - ahead) / dayCost({ key, limitPerDay, amount: 1 })));
}

const TAKE_DAY_SQL = preparedStatement(
  'day-limit-take',
  `
  INSERT INTO "RateLimit" AS stored (key, "arrivesAt")
  SELECT use.key, now() + use.cost * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true), unnest($1::text[], $2::float8[]) AS use(key, cost)
   WHERE use.cost <= $3::float8
  ON CONFLICT (key) DO UPDATE
     SET "arrivesAt" = greatest(stored."arrivesAt", now()) + (excluded."arrivesAt" - now())
   WHERE greatest(stored."arrivesAt", now()) + (excluded."arrivesAt" - now()) <= now() + $3::float8 * interval '1 microsecond'
  RETURNING key`,
);

const RECORD_DAY_SQL = preparedStatement(
  'day-limit-record',
  `
  INSERT INTO "RateLimit" AS stored (key, "arrivesAt")
  SELECT use.key, now() + use.cost * interval '1 microsecond'
    FROM set_config('synchronous_commit', 'off', true), unnest($1::text[], $2::float8[]) AS use(key, cost)
  ON CONFLICT (key) DO UPDATE
     SET "arrivesAt" = least(greatest(stored."arrivesAt", now()) + (excluded."arrivesAt" - now()),
                             now() + $3::float8 * interval '1 microsecond')
  RETURNING key, (extract(epoch FROM stored."arrivesAt" - now()) * 1000000)::float8 AS ahead`,
);
