import { createHash } from 'node:crypto';
import type { BuildContext } from '../definition.ts';

/**
 * An event's ID at the vendor: 32 lowercase hex characters. It is the same on every attempt, so that the vendor can
 * drop duplicates. It depends on the connector too, because some vendors (such as Segment) deduplicate across all their
 * customers, and two connectors must each deliver their own copy.
 */
export function derivedId(eventId: string, connectorId: string): string {
  return createHash('sha256').update(`${eventId}:${connectorId}`).digest('hex').slice(0, 32);
}

/** `derivedId` formatted as a version 4 UUID (RFC 9562), for vendors that require one. */
export function derivedUuid(eventId: string, connectorId: string): string {
  const id = derivedId(eventId, connectorId);
  const variant = ((Number.parseInt(id[16]!, 16) & 0b0011) | 0b1000).toString(16);
  return [id.slice(0, 8), id.slice(8, 12), `4${id.slice(13, 16)}`, variant + id.slice(17, 20), id.slice(20)].join('-');
}

/**
 * What to add to the name of an ID for vendors that return their original response, even if it was an error, to an ID
 * that they have seen. It changes with each manual resend, because someone may have fixed the cause.
 */
export function resendSuffix({ resentAt }: Pick<BuildContext, 'resentAt'>): string[] {
  return resentAt === undefined ? [] : [`resend-${resentAt}`];
}
