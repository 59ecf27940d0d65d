import type { Queryable } from '../../database/client.ts';
import { runStatement, statements } from '../../database/statement.ts';
import { firstIdAt } from '../../ids.ts';
import { DESTINATIONS, type DestinationKind } from '../queue/held.ts';

/** A destination may be disabled after this long without a success. */
export const FAILING_LIMIT_SECONDS = 5 * 24 * 60 * 60;
/** At least this many deliveries must also run out of retries during that time, so that one bad hour isn't enough. */
const GIVEN_UP_LIMIT = 3;
/**
 * How many of the destination's deliveries are read, oldest first, because those run out of retries first. All results
 * wait for this, and millions of deliveries can be waiting for a destination that keeps failing.
 */
const MAX_READ = 10_000;

// Allows for deliveries that were created a while before the failures began, such as the first one that failed.
const MARGIN_MILLISECONDS = 60 * 60 * 1000;

export type LastingFailureOptions = {
  db: Queryable;
  failingLimitSeconds: number;
  /** The length of the retry schedule. A delivery that failed after this many retries has run out of them. */
  retries: number;
};

const IS_FAILING = `"isActive" AND "failingSince" < now() - make_interval(secs => $2)`;

const FIND_FAILING = statements(
  'destination-find-failing',
  ['webhook', 'connector'],
  (kind) => `SELECT "failingSince" FROM ${DESTINATIONS[kind].table} WHERE "id" = $1 AND ${IS_FAILING}`,
);

const DISABLE = statements('destination-disable-failing', ['webhook', 'connector'], (kind) => {
  const { table, column } = DESTINATIONS[kind];
  return `UPDATE ${table}
    SET "isActive" = false, "disabledReason" = 'failing', "disabledAt" = now(), "updatedAt" = now()
    WHERE "id" = $1 AND ${IS_FAILING} AND $3::bigint <= (
      SELECT count(*) FROM (
        SELECT FROM (
          SELECT "id", "outcome", "retryStep", "completedAt" FROM "Delivery"
          WHERE ${column} = $1 AND "id" >= $4 ORDER BY "id" LIMIT ${MAX_READ}
        ) AS d
        WHERE d."id" <> ALL($5) AND d."outcome" = 'FAILED'
          AND d."retryStep" >= $6 AND d."completedAt" > now() - make_interval(secs => $2)
        LIMIT $3
      ) AS earlier
    )
    RETURNING "projectId"`;
});

/**
 * Disables a destination that keeps failing. All three conditions must be met, because each one alone can have a
 * harmless cause: no success for days, several deliveries that ran out of retries during that time, and at least one
 * that ran out just now. Safe to retry.
 *
 * @param givenUp deliveries to the destination that just ran out of retries and aren't recorded yet.
 * @returns the project if the destination was disabled.
 */
export async function disableLastingFailure(
  { db, failingLimitSeconds, retries }: LastingFailureOptions,
  kind: DestinationKind,
  id: string,
  givenUp: readonly string[],
): Promise<string | undefined> {
  const found = await runStatement(db, FIND_FAILING[kind](id, failingLimitSeconds));
  const since = found.rows[0]?.failingSince;
  if (!since) return undefined;
  const first = firstIdAt('Delivery', since.getTime() - MARGIN_MILLISECONDS);
  const missing = Math.max(GIVEN_UP_LIMIT - givenUp.length, 0);
  const { rows } = await runStatement(db, DISABLE[kind](id, failingLimitSeconds, missing, first, givenUp, retries));
  return rows[0]?.projectId;
}
