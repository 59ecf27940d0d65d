import type { Queryable } from '../../database/client.ts';
import { composeStatement, type Step } from '../../database/compose-statement.ts';
import { type Endpoint, Prisma } from '../../generated/prisma/client.ts';

export type NewEndpoint = Omit<Endpoint, 'createdAt' | 'updatedAt'>;

/**
 * Writes an endpoint with everything that belongs to its creation in one statement. Through Prisma, this took six
 * statements in a transaction, and the client cost more than the database.
 *
 * @param steps the other writes: the event, its deliveries, and the audit entry.
 * @throws a violation of the unique path, or of a foreign key if the project or a destination is gone
 */
export async function insertEndpoint(
  db: Queryable,
  endpoint: NewEndpoint,
  steps: { event: Step; delivery: Step; audit: Step },
): Promise<Endpoint> {
  const { id, projectId, path, upstreamUrl, priceAtomic, description, isActive, forwardedHeaders } = endpoint;
  const values = [id, projectId, path, upstreamUrl, priceAtomic.toFixed(0), description, isActive, forwardedHeaders];
  const statement = composeStatement('endpoint-insert', { endpoint: { text: INSERT, values }, ...steps }, RESULT);
  const { rows } = await db.query<Omit<Endpoint, 'priceAtomic'> & { priceAtomic: string }>({
    ...statement,
    values: [...statement.values],
  });
  const [written] = rows;
  return { ...written!, priceAtomic: new Prisma.Decimal(written!.priceAtomic) };
}

const INSERT = `
  INSERT INTO "Endpoint"
    ("id", "projectId", "path", "upstreamUrl", "priceAtomic", "description", "isActive", "forwardedHeaders")
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  RETURNING *`;
const RESULT = 'SELECT * FROM endpoint';
