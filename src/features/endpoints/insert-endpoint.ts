import { AUDIT_STEP, type auditValues } from '../../audit/record.ts';
import type { Transaction } from '../../database/client.ts';
import { composeText } from '../../database/compose-statement.ts';
import { preparedStatement, runWithPrisma } from '../../database/statement.ts';
import type { Endpoint, Prisma } from '../../generated/prisma/client.ts';
import { EVENT_STEPS, type EventValues } from '../events/write-events.ts';

export type NewEndpoint = Omit<Endpoint, 'createdAt' | 'updatedAt'>;

/**
 * Writes an endpoint, and everything else that creating it involves, in one statement. Separate statements took more time
 * in the client than in the database.
 *
 * @param steps the values of the other writes: the event with its deliveries, and the audit entry.
 * @throws a violation of the unique path, or of a foreign key if the project or a destination was deleted
 */
export async function insertEndpoint(
  tx: Pick<Transaction, '$queryRawUnsafe'>,
  endpoint: NewEndpoint,
  steps: { event: EventValues; audit: ReturnType<typeof auditValues> },
): Promise<Endpoint> {
  const [written] = await runWithPrisma<Endpoint>(tx, INSERT(...valuesOf(endpoint), ...steps.event, ...steps.audit));
  return written!;
}

const valuesOf = (endpoint: NewEndpoint) =>
  [
    ...([endpoint.id, endpoint.projectId, endpoint.path, endpoint.upstreamUrl, endpoint.description] as const),
    ...([endpoint.isActive, endpoint.forwardedHeaders, endpoint.methods, endpoint.secretUpstreamHeaders] as const),
    ...([endpoint.protocol, endpoint.settlement, endpoint.timeoutSeconds, endpoint.mimeType, endpoint.tags] as const),
    ...([jsonOf(endpoint.upstreamHeaders), jsonOf(endpoint.inputSchema), jsonOf(endpoint.exampleResponse)] as const),
    endpoint.priceAtomic.toFixed(0),
  ] as const;

// Otherwise, the driver would send a list as an SQL array, and text without quotes.
const jsonOf = (value: Prisma.JsonValue) => (value === null ? null : JSON.stringify(value));

const ENDPOINT_STEP = `
  INSERT INTO "Endpoint" (
    "id", "projectId", "path", "upstreamUrl", "description", "isActive", "forwardedHeaders", "methods",
    "secretUpstreamHeaders", "protocol", "settlement", "timeoutSeconds", "mimeType", "tags",
    "upstreamHeaders", "inputSchema", "exampleResponse", "priceAtomic"
  )
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
  RETURNING *`;
const INSERT = preparedStatement(
  'endpoint-insert',
  composeText({ endpoint: ENDPOINT_STEP, ...EVENT_STEPS, audit: AUDIT_STEP }, 'SELECT * FROM endpoint'),
);
