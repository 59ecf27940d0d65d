import { Prisma } from '../generated/prisma/client.ts';

/** Whether the database refused a write because of a unique index (Prisma P2002). */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
}
