import type { Endpoint } from '../../generated/prisma/client.ts';
import { MAX_UPSTREAM_SECONDS } from './settlement.ts';

/** Media types of responses that are sent piece by piece, usually endlessly or over a long time. */
const STREAM_TYPES: ReadonlySet<string> = new Set([
  'text/event-stream',
  'application/x-ndjson',
  'application/ndjson',
  'application/stream+json',
  'application/json-seq',
  'multipart/x-mixed-replace',
]);

/**
 * Warns that an endpoint's responses have the media type of a stream, but are held until they are complete.
 *
 * @returns undefined if they have another type, or if the endpoint streams them.
 */
export function bufferedStreamWarning({
  mimeType,
  protocol,
  settlement,
  timeoutSeconds,
}: Pick<Endpoint, 'mimeType' | 'protocol' | 'settlement' | 'timeoutSeconds'>): string | undefined {
  const type = /^[^;\s]+/.exec(mimeType ?? '')?.[0].toLowerCase();
  if (type === undefined || !STREAM_TYPES.has(type) || settlement === 'BEFORE_REQUEST') return undefined;
  // Only the results of tool calls are held, and they can't be streamed.
  if (protocol === 'MCP') return undefined;
  const seconds = timeoutSeconds ?? MAX_UPSTREAM_SECONDS.AFTER_RESPONSE;
  const limit = `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  return `Responses of the type ${type} are held until they are complete, and fail after ${limit}. To stream them, charge before the request.`;
}
