import type { Queryable } from '../../database/client.ts';
import { runStatement, statement, statements } from '../../database/statement.ts';
import { unplanned } from '../../database/unplanned.ts';

/**
 * A paused destination's deliveries are held: PENDING, with the reason `paused` and without a due time, so claims never
 * see them. The index "Delivery_held" uses the same conditions.
 */
const IS_HELD = `d."outcome" IS NULL AND d."nextAttemptAt" IS NULL AND d."reason" = 'paused'`;

/**
 * A delivery that the vendor accepts only after the owner has fixed something is held until someone resends it: PENDING,
 * without a due time, and its reason says what to do. (The reason `ordering` belongs to `queue/ordering.ts`.) The index
 * "Delivery_until_resent" and the trigger that writes notices use the same conditions.
 */
const IS_UNTIL_RESENT = `d."outcome" IS NULL AND d."nextAttemptAt" IS NULL AND d."reason" <> 'paused' AND d."reason" <> 'ordering'`;
const DESTINATION = `coalesce(d."webhookId", d."connectorId")`;

/** Whether a delivery is held until someone resends it. */
export function isUntilResent(delivery: {
  status: string;
  nextAttemptAt: Date | null;
  reason: string | null;
}): boolean {
  const { status, nextAttemptAt, reason } = delivery;
  return status === 'PENDING' && nextAttemptAt === null && ![null, 'paused', 'ordering'].includes(reason);
}

/** How many deliveries are changed in one step, because there may be many. */
const BATCH_SIZE = 10_000;

export type DestinationKind = 'webhook' | 'connector';

/** The table for each kind of destination, and the column in `Delivery` that refers to it. */
export const DESTINATIONS = {
  webhook: { table: '"Webhook"', column: '"webhookId"' },
  connector: { table: '"Connector"', column: '"connectorId"' },
} as const;

/** What happens to deliveries that are waiting when their destination is paused or disabled. */
const CHANGES = {
  hold: {
    set: `"reason" = 'paused'`,
    condition: `s."pausedAt" IS NOT NULL AND NOT (${IS_HELD}) AND NOT (${IS_UNTIL_RESENT})`,
  },
  skip: { set: `"status" = 'SKIPPED', "reason" = 'disabled', "completedAt" = now()`, condition: 'NOT s."isActive"' },
};

// The condition on the project lets the query use the index of unfinished deliveries.
const changesTo = (change: keyof typeof CHANGES) => (kind: DestinationKind) => {
  const { table, column } = DESTINATIONS[kind];
  const { set, condition } = CHANGES[change];
  return `UPDATE "Delivery" SET ${set}, "nextAttemptAt" = NULL, "isParked" = false, "updatedAt" = now()
    WHERE "id" = ANY(ARRAY(
      SELECT waiting."id" FROM ${table} s CROSS JOIN LATERAL (
        SELECT d."id" FROM "Delivery" d
        WHERE d."projectId" = s."projectId" AND d.${column} = s."id" AND d."outcome" IS NULL
          AND d."status" = 'PENDING' AND ${condition}
        ORDER BY d."id" LIMIT ${unplanned('$2::int')} FOR UPDATE SKIP LOCKED
      ) AS waiting
      WHERE s."id" = $1
    ))`;
};
const CHANGE = {
  hold: statements('delivery_hold', ['webhook', 'connector'], changesTo('hold')),
  skip: statements('delivery_skip', ['webhook', 'connector'], changesTo('skip')),
};

/**
 * Holds or skips one batch of the deliveries that are waiting for a destination, if it is still paused or disabled.
 * If this fails, nothing is lost, because every delivery is checked again when it is claimed.
 *
 * @returns whether there may be more.
 */
export async function changeWaiting(
  db: Queryable,
  kind: DestinationKind,
  id: string,
  change: keyof typeof CHANGES,
): Promise<boolean> {
  const { rowCount } = await runStatement(db, CHANGE[change][kind](id, BATCH_SIZE));
  return rowCount === BATCH_SIZE;
}

/**
 * Makes a destination's held deliveries due now, oldest first. Handles one batch; `releaseStranded` releases the rest.
 * Call it after the pause has ended, then publish `topics.deliveriesDue`.
 *
 * @returns how many are due now.
 */
export async function releaseHeld(db: Queryable, destinationId: string): Promise<number> {
  const { rowCount } = await runStatement(db, RELEASE_HELD(destinationId, BATCH_SIZE));
  return rowCount ?? 0;
}

/**
 * Makes one batch of held deliveries due, from destination to destination by index, so those that stay held aren't read.
 *
 * @param isHeld the condition on `d`, as in an index by destination.
 * @param isStranded the condition on `held.destination`.
 */
const releaseWhere = (isHeld: string, isStranded: string) => {
  const next = (after: string) =>
    `SELECT ${DESTINATION} FROM "Delivery" d WHERE ${isHeld} AND ${DESTINATION} > ${after} ORDER BY ${DESTINATION} LIMIT 1`;
  return `
    WITH RECURSIVE held AS (
      SELECT (${next(`''`)}) AS destination
      UNION ALL
      SELECT (${next('held.destination')}) FROM held WHERE held.destination IS NOT NULL
    )
    UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
    WHERE "id" = ANY(ARRAY(
      SELECT stranded."id" FROM held CROSS JOIN LATERAL (
        SELECT d."id" FROM "Delivery" d WHERE ${DESTINATION} = held.destination AND ${isHeld}
        ORDER BY d."id" LIMIT ${unplanned('$1::int')} FOR UPDATE SKIP LOCKED
      ) AS stranded
      WHERE held.destination IS NOT NULL AND ${isStranded}
      LIMIT $1
    ))`;
};

const isStillPaused = (table: string) =>
  `EXISTS (SELECT FROM ${table} s WHERE s."id" = held.destination AND s."pausedAt" IS NOT NULL AND s."isActive")`;
const RELEASE_PAUSED = statement(
  'delivery_release_stranded',
  releaseWhere(IS_HELD, `NOT ${isStillPaused('"Webhook"')} AND NOT ${isStillPaused('"Connector"')}`),
);
const RELEASE_DISABLED = statement(
  'delivery_release_disabled',
  releaseWhere(
    IS_UNTIL_RESENT,
    `NOT EXISTS (SELECT FROM "Connector" s WHERE s."id" = held.destination AND s."isActive")`,
  ),
);

/**
 * Makes held deliveries due if their destination is disabled or no longer paused, for example, those held just as the
 * pause ended. Deliveries to a disabled destination are then skipped. Handles one batch of each kind.
 */
export async function releaseStranded(db: Queryable): Promise<number> {
  const paused = await runStatement(db, RELEASE_PAUSED(BATCH_SIZE));
  const disabled = await runStatement(db, RELEASE_DISABLED(BATCH_SIZE));
  return (paused.rowCount ?? 0) + (disabled.rowCount ?? 0);
}

const RELEASE_HELD = statement(
  'delivery_release_held',
  `UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL, "updatedAt" = now()
     WHERE "id" = ANY(ARRAY(
       SELECT d."id" FROM "Delivery" d WHERE ${DESTINATION} = $1 AND ${IS_HELD}
       ORDER BY d."id" LIMIT ${unplanned('$2::int')} FOR UPDATE SKIP LOCKED
     ))`,
);
