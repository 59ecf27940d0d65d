import type { Queryable, Transaction } from './client.ts';
import { runStatement, runWithPrisma, statement } from './statement.ts';

// Stored times have milliseconds, too.
const READ_TIME = statement('database-time', 'SELECT clock_timestamp()::timestamptz(3) AS "now"');

/** The time of the database's clock. */
export async function databaseTime(db: Queryable): Promise<Date> {
  return (await runStatement(db, READ_TIME())).rows[0]!.now;
}

/** The same in one of Prisma's transactions. It isn't the time when the transaction began. */
export async function databaseTimeIn(tx: Pick<Transaction, '$queryRawUnsafe'>): Promise<Date> {
  const [row] = await runWithPrisma<{ now: Date }>(tx, READ_TIME());
  return row!.now;
}
