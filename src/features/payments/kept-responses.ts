import type { Database } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import type { ServedResponse } from './payment-record.ts';

export type KeptResponse = Pick<ServedResponse, 'statusCode' | 'headers' | 'body'>;

const READ_BYTES = preparedStatement(
  'payment-response-bytes',
  'SELECT octet_length("body") AS bytes FROM "PaymentAnswer" WHERE "paymentId" = $1',
);

const READ_RESPONSE = preparedStatement(
  'payment-response',
  `SELECT "statusCode", "headers", "body" FROM "PaymentAnswer" WHERE "paymentId" = $1 AND "expiresAt" > now()`,
);

/** Reads stored upstream responses (table `PaymentAnswer`) for buyers who retry their requests. */
export function createKeptResponses(db: Pick<Database, 'pool'>) {
  return {
    /** The size of a stored response's body in bytes, or 0 if none is stored. */
    async keptResponseBytes(paymentId: string): Promise<number> {
      const { rows } = await runStatement<{ bytes: number }>(db.pool, READ_BYTES(paymentId));
      return rows[0]?.bytes ?? 0;
    },

    /** A payment's stored upstream response. The payment's status shows whether the response was paid for. */
    async keptResponse(paymentId: string): Promise<KeptResponse | null> {
      const { rows } = await runStatement<KeptResponse>(db.pool, READ_RESPONSE(paymentId));
      return rows[0] ?? null;
    },
  };
}
