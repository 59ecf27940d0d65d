import { createdBetween, type Period } from '../../database/created-between.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { storableText } from '../../validation.ts';

export type EndpointFilter = Period & { pathPrefix?: string | null; isActive?: boolean | null };

/** A Prisma filter that leaves out conditions that aren't set. Throws AppError `VALIDATION_FAILED` for invalid text. */
export function matching({ pathPrefix, isActive, ...period }: EndpointFilter): Prisma.EndpointWhereInput {
  return {
    ...(pathPrefix && { path: { startsWith: literally(storableText('/pathPrefix', pathPrefix)) } }),
    ...(isActive != null && { isActive }),
    ...createdBetween('Endpoint', 'createdAt', period),
  };
}

/** Escapes text for `LIKE`, so that it contains no wildcards. */
const literally = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&');
