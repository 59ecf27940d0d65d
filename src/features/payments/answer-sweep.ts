import type { Database } from '../../database/client.ts';

const MAX_PROJECT_BYTES = 1024 ** 3;
/** The first to go: costly, and asked for again soon or not at all. */
const LARGE_BYTES = 256 * 1024;

/**
 * Deletes answers that are no longer kept, and of each project's those that are too much: large ones first, and of each
 * kind the oldest. Answers up to 16 KB do not count, as in the index `PaymentAnswer_size`, and those of payments that are
 * not settled stay: their buyers have not been answered.
 */
export async function sweepPaymentAnswers(
  pool: Database['pool'],
  maxProjectBytes: number = MAX_PROJECT_BYTES,
): Promise<void> {
  await pool.query('DELETE FROM "PaymentAnswer" WHERE "expiresAt" <= now()');
  await pool.query(
    `DELETE FROM "PaymentAnswer" USING (
       SELECT payment."id", sum(octet_length(answer."body")) OVER (
         PARTITION BY payment."projectId" ORDER BY octet_length(answer."body") > $2, payment."id" DESC
       ) AS bytes
       FROM "PaymentAnswer" answer JOIN "Payment" payment ON payment."id" = answer."paymentId"
       WHERE octet_length(answer."body") > 16384 AND payment."status" = 'SETTLED'
     ) AS sized
     WHERE "paymentId" = sized."id" AND sized.bytes > $1`,
    [maxProjectBytes, LARGE_BYTES],
  );
}
