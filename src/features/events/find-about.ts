import type { Queryable } from '../../database/client.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { firstIdAt, millisecondsOfId } from '../../ids.ts';
import { SUBJECTS, type Subject } from './filter.ts';

/** Clocks differ, and an event's ID is a little older than its transaction. */
const MARGIN_MILLISECONDS = 60_000;

/**
 * The IDs of a project's events about a resource. Endpoints and customers have few events, and an index finds them. A
 * payment's events have no index, because every payment would have to update it. They are found by searching the time
 * between the payment's first and last step.
 */
export async function findAbout(db: Queryable, projectId: VisibleProjectId, subject: Subject): Promise<string[]> {
  const { field, types } = SUBJECTS[subject.type];
  const [fromId, toId] = subject.type === 'Payment' ? await spanOf(db, projectId, subject.id) : ['', '~'];
  const { rows } = await db.query<{ id: string }>(
    `SELECT "id" FROM "Event"
      WHERE "projectId" = $1 AND "type" IN (${types.map((type) => `'${type}'`).join(', ')})
        AND "data" ->> '${field}' = $2 AND "id" >= $3 AND "id" < $4
      ORDER BY "id" DESC LIMIT ${MAX_EVENTS}`,
    [projectId, subject.id, fromId, toId],
  );
  return rows.map(({ id }) => id);
}

/** Far more than the price changes of any endpoint or the milestones of any customer. */
const MAX_EVENTS = 10_000;

async function spanOf(
  db: Queryable,
  projectId: VisibleProjectId,
  paymentId: string,
): Promise<[from: string, to: string]> {
  const { rows } = await db.query<{ endedAt: Date }>(
    `SELECT coalesce("settledAt", "updatedAt") AS "endedAt" FROM "Payment" WHERE "id" = $1 AND "projectId" = $2`,
    [paymentId, projectId],
  );
  const started = millisecondsOfId(paymentId);
  // If the payment has been deleted, only its events from the first minutes are found.
  const ended = rows[0]?.endedAt.getTime() ?? started;
  return [firstIdAt('Event', started - MARGIN_MILLISECONDS), firstIdAt('Event', ended + MARGIN_MILLISECONDS)];
}
