import type { ConnectorDefinition, ConnectorEvent, ConnectorMemory } from '../connectors/definition.ts';
import { webhookBody } from './payload.ts';
import { selectedKinds } from './send-connector.ts';
import type { ClaimedEvent } from './types.ts';

/** A request as it would go out now, with its secrets. Never show it as it is. */
export type RebuiltRequest = { method: string; url: string; headers: Record<string, string>; body?: string };

/** The request of a delivery to a webhook, but for its signature and its time. */
export function rebuildWebhookRequest(
  event: ClaimedEvent,
  { projectId, url, userAgent }: { projectId: string; url: string; userAgent: string },
): RebuiltRequest {
  const headers = { 'content-type': 'application/json', 'user-agent': userAgent, 'webhook-id': event.id };
  return { method: 'POST', url, headers, body: webhookBody(event, projectId) };
}

export type RebuildContext = {
  projectId: string;
  projectName: string;
  connector: { id: string; eventTypes: string[]; memory: ConnectorMemory };
  config: Record<string, unknown>;
  attemptNumber: number;
  now: Date;
  userAgent: string;
};

/**
 * The first request of a delivery to a connector, of this event alone.
 *
 * @returns undefined when the connector would not send it.
 */
export function rebuildConnectorRequest(
  { id, type, test, timestamp, data }: ClaimedEvent,
  definition: ConnectorDefinition,
  { projectId, projectName, connector, config, attemptNumber, now, userAgent }: RebuildContext,
): RebuiltRequest | undefined {
  const event = { id, type, timestamp: timestamp.toISOString(), projectId, test, data: JSON.parse(data) };
  const built = definition.build([event as ConnectorEvent], config, {
    ...{ projectId, projectName, attemptNumber, now },
    connectorId: connector.id,
    selectedKinds: selectedKinds(connector),
    memory: connector.memory,
    previousAttemptAmbiguous: false,
  });
  if ('skip' in built) return undefined;
  const { method, url, headers, body } = built;
  return { method, url, headers: { 'user-agent': userAgent, ...headers }, ...(body !== undefined && { body }) };
}
