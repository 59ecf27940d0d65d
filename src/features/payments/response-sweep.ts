import type { Database } from '../../database/client.ts';

const MAX_PROJECT_BYTES = 1024 ** 3;
/** Bodies larger than this are deleted first, because they are costly and retries come soon or never. */
const LARGE_BYTES = 256 * 1024;

/**
 * Deletes expired responses, and those that exceed a project's limit: large responses first, then the oldest. Bodies up
 * to 16 KB don't count, to match the index `PaymentAnswer_size`. Responses for unsettled payments stay, because their
 * buyers haven't received them yet.
 */
export async function sweepKeptResponses(
  pool: Database['pool'],
  maxProjectBytes: number = MAX_PROJECT_BYTES,
): Promise<void> {
  await pool.query('DELETE FROM "PaymentAnswer" WHERE "expiresAt" <= now()');
  await pool.query(
    `DELETE FROM "PaymentAnswer" USING (
       SELECT payment."id", sum(octet_length(response."body")) OVER (
         PARTITION BY payment."projectId" ORDER BY octet_length(response."body") > $2, payment."id" DESC
       ) AS bytes
       FROM "PaymentAnswer" response JOIN "Payment" payment ON payment."id" = response."paymentId"
       WHERE octet_length(response."body") > 16384 AND payment."status" = 'SETTLED'
     ) AS sized
     WHERE "paymentId" = sized."id" AND sized.bytes > $1`,
    [maxProjectBytes, LARGE_BYTES],
  );
}
