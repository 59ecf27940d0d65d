import type { ClaimedEvent } from '../model/claimed-delivery.ts';

/**
 * The body of a webhook: `{id, type, timestamp, projectId, data}`, and `"test":true` on events sent by hand. `data` is
 * copied as it was stored, so the bytes are the same on every try.
 */
export function webhookBody(event: Omit<ClaimedEvent, 'version'>, projectId: string): string {
  const head = JSON.stringify({ id: event.id, type: event.type, timestamp: event.timestamp.toISOString(), projectId });
  return `${head.slice(0, -1)},"data":${event.data}${event.test ? ',"test":true' : ''}}`;
}
