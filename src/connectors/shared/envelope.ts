import type { ConnectorEvent } from '../definition.ts';

/**
 * An event as automation tools receive it: the JSON object that our webhooks send, plus `test`. The shape is the same
 * for every type, because these tools learn the fields from the first event they see. A test event has its own type, so
 * that no workflow mistakes it for a payment. Its data is the documented sample.
 */
export function eventEnvelope(event: ConnectorEvent): string {
  const { id, timestamp, projectId, test, data } = event;
  return JSON.stringify({ id, type: test ? 'connector.test' : event.type, timestamp, projectId, test, data });
}
