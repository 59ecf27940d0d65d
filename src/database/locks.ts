import type { Transaction } from './client.ts';
import { runWithPrisma, statement, statements } from './statement.ts';

type Tx = Pick<Transaction, '$queryRawUnsafe'>;

/** The tables whose rows are locked, by the name of a row. */
const TABLES = {
  endpoint: 'Endpoint',
  'notice-contacts': 'NoticeContacts',
  project: 'Project',
  user: 'User',
} as const;

type Locked = keyof typeof TABLES;

const locks = <Strength extends string, Row extends Locked>(strength: Strength, rows: readonly Row[], sql: string) =>
  statements(strength, rows, (row) => `SELECT 1 AS "found" FROM "${TABLES[row]}" WHERE "id" = $1 ${sql}`);

const FOR_UPDATE = locks('lock', ['endpoint', 'notice-contacts'], 'FOR UPDATE');
const FOR_NO_KEY_UPDATE = locks('lock-values', ['project', 'user'], 'FOR NO KEY UPDATE');
const FOR_KEY_SHARE = locks('keep', ['project'], 'FOR KEY SHARE');

/** Locks a row until the transaction ends. No other transaction can change or delete it, or add a row that refers to it. */
export async function lockForUpdate(tx: Tx, row: keyof typeof FOR_UPDATE, id: string): Promise<void> {
  await runWithPrisma(tx, FOR_UPDATE[row](id));
}

/** Like `lockForUpdate`, but other transactions can still add rows that refer to this one. */
export async function lockForNoKeyUpdate(tx: Tx, row: keyof typeof FOR_NO_KEY_UPDATE, id: string): Promise<void> {
  await runWithPrisma(tx, FOR_NO_KEY_UPDATE[row](id));
}

/** Keeps a row from being deleted until the transaction ends. Other transactions can still change it. */
export async function lockForKeyShare(tx: Tx, row: keyof typeof FOR_KEY_SHARE, id: string): Promise<void> {
  await runWithPrisma(tx, FOR_KEY_SHARE[row](id));
}

// Prisma can't read a column of the type `void`.
const LOCK_TEXT = statement('lock-text', 'SELECT pg_advisory_xact_lock($1, hashtext($2))::text AS "locked"');

/**
 * Takes an advisory lock on a text until the transaction ends.
 *
 * @param lock one of `ADVISORY_LOCKS`.
 */
export async function lockAdvisory(tx: Tx, lock: number, on: string): Promise<void> {
  await runWithPrisma(tx, LOCK_TEXT(lock, on));
}
