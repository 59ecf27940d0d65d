import type { Database } from '../../database/client.ts';
import type { UpstreamAnswer } from './payment-record.ts';

export type StoredAnswer = Pick<UpstreamAnswer, 'statusCode' | 'headers' | 'body'>;

/** Reads what upstreams have answered, for buyers who repeat their requests. */
export function createKeptAnswers(db: Pick<Database, 'pool'>) {
  return {
    /** How large the body of a kept answer is; 0 without one. */
    async answerBytes(paymentId: string): Promise<number> {
      const { rows } = await db.pool.query<{ bytes: number }>({
        name: 'payment-answer-bytes',
        text: 'SELECT octet_length("body") AS bytes FROM "PaymentAnswer" WHERE "paymentId" = $1',
        values: [paymentId],
      });
      return rows[0]?.bytes ?? 0;
    },

    /** The upstream's answer to a payment, while it is kept. Whether it is paid for is the payment's status. */
    async answerOf(paymentId: string): Promise<StoredAnswer | null> {
      const { rows } = await db.pool.query<StoredAnswer>({
        name: 'payment-answer',
        text: `SELECT "statusCode", "headers", "body" FROM "PaymentAnswer" WHERE "paymentId" = $1 AND "expiresAt" > now()`,
        values: [paymentId],
      });
      return rows[0] ?? null;
    },
  };
}
