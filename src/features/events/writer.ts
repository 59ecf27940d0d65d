import type { Writer } from '../../database/batch-client.ts';
import type { Transaction } from '../../database/client.ts';

export function prismaWriter(tx: Pick<Transaction, '$queryRawUnsafe'>): Writer {
  return { query: ({ text, values }) => tx.$queryRawUnsafe(text, ...values) };
}
