import { Prisma } from '../generated/prisma/client.ts';

/** Whether the database refused a write because of a unique index (Prisma P2002). */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
}

/** Whether the database refused a write because what it belongs to is not there (Prisma P2003; P2010 of raw SQL). */
export function isForeignKeyViolation(error: unknown): boolean {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return false;
  const { cause } = (error.meta?.driverAdapterError ?? {}) as { cause?: { kind?: string } };
  return error.code === 'P2003' || (error.code === 'P2010' && cause?.kind === 'ForeignKeyConstraintViolation');
}
