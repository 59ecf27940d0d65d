import { z } from 'zod';
import type { Tier } from '../../generated/prisma/client.ts';
import { MAX_REQUESTS_PER_MINUTE, TIERS } from '../../limits/tiers.ts';

/** The rules for changes to an account. */
export const userChanges = z.strictObject({
  tier: z.enum(Object.keys(TIERS) as Tier[]).optional(),
  requestsPerMinute: z.int().min(1).max(MAX_REQUESTS_PER_MINUTE).nullish(),
  tierSetBy: z.enum(['ISSUER', 'OPERATOR']).optional(),
});
