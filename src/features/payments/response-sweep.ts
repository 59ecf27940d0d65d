import { deleteWhere, deletionStatement, inBatches } from '../../database/batches.ts';
import type { Database } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';

const MAX_PROJECT_BYTES = 1024 ** 3;
/** For all projects of an account. Otherwise, an account could fill the disk with many projects. */
const MAX_ACCOUNT_BYTES = 5 * 1024 ** 3;
/**
 * Bodies larger than this are deleted first, because they take up the most space, and buyers retry soon or not at all.
 */
const LARGE_BYTES = 256 * 1024;
/** Limits memory. The next sweep deletes the rest. */
const MAX_EXCESS = 100_000;

const DELETE_RESPONSES = statement(
  'payment-responses-delete',
  'DELETE FROM "PaymentAnswer" WHERE "paymentId" = ANY ($1)',
);

/**
 * Deletes expired responses, and responses that exceed the limit of a project or an account: large responses first, then
 * the oldest. Bodies up to 16 KB don't count, to match the index `PaymentAnswer_size`. Responses for unsettled payments
 * stay, because their buyers haven't received them yet.
 */
export async function sweepKeptResponses(
  pool: Database['pool'],
  { maxProjectBytes = MAX_PROJECT_BYTES, maxAccountBytes = MAX_ACCOUNT_BYTES } = {},
): Promise<void> {
  await deleteWhere(pool, DELETE_EXPIRED);
  const { rows } = await runStatement<{ id: string }>(pool, EXCESS_SQL(maxProjectBytes, maxAccountBytes, LARGE_BYTES));
  const excess = rows.map(({ id }) => id);
  await inBatches(async (limit) => {
    const batch = excess.slice(0, limit);
    if (batch.length === 0) return 0;
    await runStatement(pool, DELETE_RESPONSES(batch));
    excess.splice(0, limit);
    return batch.length;
  });
}

const EXCESS_SQL = statement(
  'payment-responses-find-excess',
  `
  SELECT "id" FROM (
    SELECT *, sum("bytes") FILTER (WHERE NOT "isOverProject") OVER (
      PARTITION BY "userId" ORDER BY "bytes" > $3, "id" DESC
    ) > $2 AS "isOverAccount"
    FROM (
      SELECT payment."id", project."userId", octet_length(response."body") AS "bytes", sum(octet_length(response."body")) OVER (
        PARTITION BY payment."projectId" ORDER BY octet_length(response."body") > $3, payment."id" DESC
      ) > $1 AS "isOverProject"
      FROM "PaymentAnswer" response
      JOIN "Payment" payment ON payment."id" = response."paymentId"
      JOIN "Project" project ON project."id" = payment."projectId"
      WHERE octet_length(response."body") > 16384 AND payment."status" = 'SETTLED'
    ) AS sized
  ) AS summed
  WHERE "isOverProject" OR "isOverAccount"
  LIMIT ${MAX_EXCESS}`,
);

const DELETE_EXPIRED = deletionStatement('payment-responses-delete-expired', 'PaymentAnswer', '"expiresAt" <= now()');
