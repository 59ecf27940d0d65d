import { createHash } from 'node:crypto';

/**
 * The id under which a vendor knows one event of one connector: 32 lower-case hex characters, the same on every try, so
 * that the vendor can drop the second copy. The connector is part of it because some vendors de-duplicate across all
 * their customers (Segment does), and two connectors must each get their own.
 */
export function derivedId(eventId: string, connectorId: string): string {
  return createHash('sha256').update(`${eventId}:${connectorId}`).digest('hex').slice(0, 32);
}

/** `derivedId` in the shape of a version 4 UUID (RFC 9562), for vendors that insist on one. */
export function derivedUuid(eventId: string, connectorId: string): string {
  const id = derivedId(eventId, connectorId);
  const variant = ((Number.parseInt(id[16]!, 16) & 0b0011) | 0b1000).toString(16);
  return [id.slice(0, 8), id.slice(8, 12), `4${id.slice(13, 16)}`, variant + id.slice(17, 20), id.slice(20)].join('-');
}
