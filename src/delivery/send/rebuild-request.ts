import type { ConnectorDefinition, ConnectorEvent, ConnectorMemory } from '../../connectors/definition.ts';
import { expandEventTypes } from '../../events/types.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions, renderPayload } from '../../events/versions.ts';
import type { ClaimedEvent } from '../model/claimed-delivery.ts';
import { webhookBody, webhookHeaders } from './webhook-request.ts';

/** A request as it would be sent now, including its secrets. Mask them before you show it. */
export type RebuiltRequest = { method: string; url: string; headers: Record<string, string>; body?: string };

export type WebhookContext = {
  projectId: string;
  url: string;
  userAgent: string;
  /** The webhook's payload version. */
  payloadVersion: number;
  payloadVersions?: PayloadVersions | undefined;
};

/** The request for a delivery to a webhook, without the signature and timestamp. */
export function rebuildWebhookRequest(
  event: ClaimedEvent,
  { projectId, url, userAgent, payloadVersion, payloadVersions = PAYLOAD_VERSIONS }: WebhookContext,
): RebuiltRequest {
  const { data, version } = renderPayload(event, payloadVersion, payloadVersions);
  const headers = webhookHeaders({ id: event.id, version, userAgent });
  return { method: 'POST', url, headers, body: webhookBody({ ...event, data }, projectId) };
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
 * The first request for a delivery to a connector if this event is sent alone.
 *
 * @returns undefined if the connector wouldn't send the event.
 */
export function rebuildConnectorRequest(
  { id, type, test, timestamp, data }: ClaimedEvent,
  definition: ConnectorDefinition,
  { projectId, projectName, connector, config, attemptNumber, now, userAgent }: RebuildContext,
): RebuiltRequest | undefined {
  const event = { id, type, timestamp: timestamp.toISOString(), projectId, test, data: JSON.parse(data) };
  const built = definition.build([event as ConnectorEvent], config, {
    projectId,
    projectName,
    attemptNumber,
    now,
    connectorId: connector.id,
    selectedTypes: expandEventTypes(connector.eventTypes),
    memory: connector.memory,
    previousAttemptAmbiguous: false,
    isRetry: false,
  });
  if ('skip' in built) return undefined;
  const { method, url, headers, body } = built;
  return { method, url, headers: { 'user-agent': userAgent, ...headers }, ...(body !== undefined && { body }) };
}
