import type pg from 'pg';
import { ADVISORY_LOCKS } from '../../../database/advisory-locks.ts';

/** A payment whose project's books are open. */
export type Booked = { paymentId: string; projectId: string; payer: string; milestonesAtomic: readonly bigint[] };

/**
 * Starts entries in the books for the payments' projects. Entries don't wait for each other. They wait only for a day
 * that is being closed, so everything booked on a day is in its summary. To avoid a deadlock, this locks the projects
 * first, as project deletion does.
 *
 * @returns the payments by ID. Those that no longer exist are missing.
 */
export async function openBooks(client: pg.ClientBase, paymentIds: readonly string[]): Promise<Map<string, Booked>> {
  const { rows } = await client.query<Omit<Booked, 'milestonesAtomic'> & { milestones: string[] }>({
    name: 'payment-books',
    text: OPEN,
    values: [paymentIds, ADVISORY_LOCKS.books],
  });
  return new Map(
    rows.map(({ milestones, ...row }) => [row.paymentId, { ...row, milestonesAtomic: milestones.map(BigInt) }]),
  );
}

const OPEN = `
  WITH payment AS MATERIALIZED (
    SELECT "id", "projectId", "payer" FROM "Payment" WHERE "id" = ANY($1::text[])
  ), project AS MATERIALIZED (
    SELECT "id", "milestonesAtomic" FROM "Project" WHERE "id" = ANY(ARRAY(SELECT "projectId" FROM payment))
    ORDER BY "id" FOR KEY SHARE
  ), books AS MATERIALIZED (
    SELECT "id", "milestonesAtomic", pg_advisory_xact_lock_shared($2::int, hashtext("id"))::text AS "locked" FROM project
  )
  SELECT payment."id" AS "paymentId", payment."projectId", payment."payer", books."milestonesAtomic"::text[] AS "milestones",
    books."locked"
  FROM payment JOIN books ON books."id" = payment."projectId"`;
