import type { Database } from '../../database/client.ts';
import type { ServedResponse } from './payment-record.ts';

export type KeptResponse = Pick<ServedResponse, 'statusCode' | 'headers' | 'body'>;

/** Reads stored upstream responses (table `PaymentAnswer`) for buyers who retry their requests. */
export function createKeptResponses(db: Pick<Database, 'pool'>) {
  return {
    /** The size of a stored response's body in bytes, or 0 if none is stored. */
    async keptResponseBytes(paymentId: string): Promise<number> {
      const { rows } = await db.pool.query<{ bytes: number }>({
        name: 'payment-response-bytes',
        text: 'SELECT octet_length("body") AS bytes FROM "PaymentAnswer" WHERE "paymentId" = $1',
        values: [paymentId],
      });
      return rows[0]?.bytes ?? 0;
    },

    /** A payment's stored upstream response. The payment's status shows whether the response was paid for. */
    async keptResponse(paymentId: string): Promise<KeptResponse | null> {
      const { rows } = await db.pool.query<KeptResponse>({
        name: 'payment-response',
        text: `SELECT "statusCode", "headers", "body" FROM "PaymentAnswer" WHERE "paymentId" = $1 AND "expiresAt" > now()`,
        values: [paymentId],
      });
      return rows[0] ?? null;
    },
  };
}
