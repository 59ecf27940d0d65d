import pg from 'pg';
import { Prisma } from '../generated/prisma/client.ts';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const FOREIGN_KEY_VIOLATION = '23503';
const UNIQUE_VIOLATION = '23505';
const QUERY_CANCELED = '57014';

/** Whether a unique index rejected a write (Prisma P2002, or P2010 for raw SQL). */
export function isUniqueViolation(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === UNIQUE_VIOLATION;
  return isKnownError(error, 'P2002', 'UniqueConstraintViolation');
}

/** Whether a foreign key rejected a write because the parent is missing (Prisma P2003, or P2010 for raw SQL). */
export function isForeignKeyViolation(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === FOREIGN_KEY_VIOLATION;
  return isKnownError(error, 'P2003', 'ForeignKeyConstraintViolation');
}

/** Whether a row that had to exist is gone (Prisma P2025), such as one that was deleted while a response was written. */
export function isRowGone(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2025';
}

/** @param kind how the driver adapter names the error, for raw SQL. */
function isKnownError(error: unknown, code: string, kind: string): boolean {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return false;
  const { cause } = (error.meta?.driverAdapterError ?? {}) as { cause?: { kind?: string } };
  return error.code === code || (error.code === 'P2010' && cause?.kind === kind);
}

/** Whether a statement was stopped because it took longer than `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === QUERY_CANCELED;
}
