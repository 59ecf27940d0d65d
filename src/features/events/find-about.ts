import { runStatement, statements } from '../../database/statement.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import { ofProject, type VisibleProjectId } from '../../database/tenant-filter.ts';
import { firstIdAt, millisecondsOfId } from '../../ids.ts';
import { SUBJECTS, type Subject } from './filter.ts';

/** Clocks differ, and an event's ID is a little older than its transaction. */
const MARGIN_MILLISECONDS = 60_000;
/** Far more than the price changes of any endpoint or the milestones of any customer. */
const MAX_EVENTS = 10_000;

// The types are part of the text, because an index contains only the events of these types.
const FIND = statements('events-about', ['Endpoint', 'Payment', 'Customer'], (subject) => {
  const { field, types } = SUBJECTS[subject];
  return `SELECT "id" FROM "Event"
    WHERE "projectId" = $1 AND "type" IN (${types.map((type) => `'${type}'`).join(', ')})
      AND "data" ->> '${field}' = $2 AND "id" >= $3 AND "id" < $4
    ORDER BY "id" DESC LIMIT ${MAX_EVENTS}`;
});

/**
 * The IDs of a project's events about a resource. Endpoints and customers have few events, and an index finds them. A
 * payment's events have no index, because every payment would have to update it. They are found by searching the time
 * between the payment's first and last step.
 */
export async function findAbout(db: TenantDatabase, projectId: VisibleProjectId, subject: Subject): Promise<string[]> {
  const [fromId, toId] = subject.type === 'Payment' ? await spanOf(db.prisma, projectId, subject.id) : ['', '~'];
  const { rows } = await runStatement(db.pool, FIND[subject.type](projectId, subject.id, fromId, toId));
  return rows.map(({ id }) => id);
}

async function spanOf(
  prisma: TenantDatabase['prisma'],
  projectId: VisibleProjectId,
  paymentId: string,
): Promise<[from: string, to: string]> {
  const payment = await prisma.payment.findFirst({
    where: { AND: [ofProject(projectId), { id: paymentId }] },
    select: { settledAt: true, updatedAt: true },
  });
  const started = millisecondsOfId(paymentId);
  // If the payment has been deleted, only its events from the first minutes are found.
  const ended = payment ? (payment.settledAt ?? payment.updatedAt).getTime() : started;
  return [firstIdAt('Event', started - MARGIN_MILLISECONDS), firstIdAt('Event', ended + MARGIN_MILLISECONDS)];
}
