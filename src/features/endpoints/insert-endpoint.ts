import type { Writer } from '../../database/batch-client.ts';
import { composeStatement, type Step } from '../../database/compose-statement.ts';
import type { Endpoint, Prisma } from '../../generated/prisma/client.ts';

export type NewEndpoint = Omit<Endpoint, 'createdAt' | 'updatedAt'>;

const JSON_COLUMNS = ['upstreamHeaders', 'inputSchema', 'exampleResponse'] as const;
const COLUMNS = [
  ...(['id', 'projectId', 'path', 'upstreamUrl', 'description', 'isActive', 'forwardedHeaders', 'methods'] as const),
  ...(['secretUpstreamHeaders', 'protocol', 'settlement', 'timeoutSeconds', 'mimeType', 'tags'] as const),
];

/**
 * Writes an endpoint, and everything else that creating it involves, in one statement. Separate statements took more time
 * in the client than in the database.
 *
 * @param steps the other writes: the event, its deliveries, and the audit entry.
 * @throws a violation of the unique path, or of a foreign key if the project or a destination was deleted
 */
export async function insertEndpoint(
  writer: Writer,
  endpoint: NewEndpoint,
  steps: { event: Step; delivery: Step; audit: Step },
): Promise<Endpoint> {
  const values = [
    ...COLUMNS.map((column) => endpoint[column]),
    ...JSON_COLUMNS.map((column) => jsonOf(endpoint[column])),
    endpoint.priceAtomic.toFixed(0),
  ];
  const statement = composeStatement('endpoint-insert', { endpoint: { text: INSERT, values }, ...steps }, RESULT);
  const [written] = await writer.query<Endpoint>(statement);
  return written!;
}

// Otherwise, the driver would send a list as an SQL array, and text without quotes.
const jsonOf = (value: Prisma.JsonValue) => (value === null ? null : JSON.stringify(value));

const NAMES = [...COLUMNS, ...JSON_COLUMNS, 'priceAtomic'];
const INSERT = `
  INSERT INTO "Endpoint" (${NAMES.map((name) => `"${name}"`).join(', ')})
  VALUES (${NAMES.map((_name, index) => `$${index + 1}`).join(', ')})
  RETURNING *`;
const RESULT = 'SELECT * FROM endpoint';
