import type { Writer } from '../../database/batch-client.ts';
import type { Transaction } from '../../database/client.ts';
import { runWithPrisma, type Statement } from '../../database/statement.ts';

export function prismaWriter(tx: Pick<Transaction, '$queryRawUnsafe'>): Writer {
  return { query: (bound: Statement) => runWithPrisma<never>(tx, bound as Statement<never>) };
}
