import type { Viewer } from '../../auth/viewer.ts';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { AppError } from '../../errors.ts';
import { type DayUse, takeForChange } from '../../limits/day-limit.ts';
import { MB, TIERS } from '../../limits/tiers.ts';

const KILOBYTE = 1024;
/** Up to this size, a value takes no more space than the rest of its endpoint, and isn't counted. */
const SMALL_BYTES = KILOBYTE;

/** How many bytes of an endpoint's schemas and examples count toward the daily limit. */
export function countedBytes(endpoint: { inputSchema?: unknown; exampleResponse?: unknown }): number {
  const sizes = [endpoint.inputSchema, endpoint.exampleResponse].map((value) => {
    const bytes = value == null ? 0 : Buffer.byteLength(JSON.stringify(value));
    return bytes > SMALL_BYTES ? bytes : 0;
  });
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

const COUNT_BYTES = statement(
  'endpoint-count-schema-bytes',
  `SELECT coalesce(sum(octet_length(value::text)), 0)::float8 AS bytes
    FROM "Endpoint", unnest(ARRAY["inputSchema", "exampleResponse"]) AS value
   WHERE "projectId" = $1 AND octet_length(value::text) > $2`,
);

/** The same for all endpoints of a project. */
export async function countedBytesIn(db: Queryable, projectId: VisibleProjectId): Promise<number> {
  const { rows } = await runStatement<{ bytes: number }>(db, COUNT_BYTES(projectId, SMALL_BYTES));
  return rows[0]!.bytes;
}

/**
 * Counts the schemas and examples that a change is about to store toward the account's daily limit. Without it, one
 * account could fill the disk. If nothing counts, there is no statement.
 *
 * @returns handles the change's error: undoes the count if nothing was stored, and throws the error.
 * @throws AppError `SCHEMA_LIMIT_REACHED` if too little is left.
 */
export async function takeSchemas(
  db: Queryable,
  { userId, tier }: Pick<Viewer, 'userId' | 'tier'>,
  bytes: number,
): Promise<(error: unknown) => Promise<never>> {
  const use = {
    key: `stored-schemas ${userId}`,
    limitPerDay: TIERS[tier].maxSchemaBytesPerDay / KILOBYTE,
    amount: Math.ceil(bytes / KILOBYTE),
  };
  return takeForChange(db, use, (left) => limitReached(use, left));
}

function limitReached({ limitPerDay, amount }: DayUse, left: number): AppError {
  const minutes = Math.max(1, Math.ceil(((amount - left) / limitPerDay) * 24 * 60));
  return new AppError('SCHEMA_LIMIT_REACHED', {
    detail:
      `Your tier includes ${(limitPerDay * KILOBYTE) / MB} MB of schemas and examples over 1 KB per day, of which ${left} KB is left, ` +
      `and this change needs ${amount} KB. Wait ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}: the limit refills evenly over 24 hours.`,
  });
}
