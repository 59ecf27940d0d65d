import { sharedNow } from '../../clock.ts';
import { type ConnectorConfig, redactConfig, secretFields } from '../../connectors/describe.ts';
import { getConnector } from '../../connectors/types/registry.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { newWebhookSecret } from '../../delivery/send/signing.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { type Connector, type Endpoint, Prisma, type Project, type Webhook } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';

type WithHeaders = Pick<Project, 'secretUpstreamHeaders'>;

/**
 * An endpoint for a copied project. Its upstream headers may be secrets, so they aren't copied, and an endpoint that
 * needs them starts disabled. Otherwise, buyers would pay for the upstream's response to a request without them. An
 * endpoint also starts disabled if the copy may not use its upstream.
 */
export function endpointCopy(source: WithHeaders, original: Endpoint, projectId: VisibleProjectId, allow: EgressAllow) {
  const { createdAt: _created, updatedAt: _updated, ...values } = original;
  const lacksHeaders = source.secretUpstreamHeaders !== null || original.secretUpstreamHeaders !== null;
  const endpoint = {
    ...values,
    id: newId('Endpoint'),
    projectId,
    upstreamHeaders: null,
    secretUpstreamHeaders: null,
    isActive: original.isActive && !lacksHeaders && checkTargetUrl(original.upstreamUrl, allow).ok,
  };
  const data = {
    ...endpoint,
    upstreamHeaders: Prisma.DbNull,
    inputSchema: toInput(endpoint.inputSchema),
    exampleResponse: toInput(endpoint.exampleResponse),
  } satisfies Prisma.EndpointCreateManyInput;
  return { endpoint, data };
}

/** A webhook for a copied project: disabled, with a new signing secret, and without the headers and authentication. */
export function webhookCopy(original: Webhook, projectId: VisibleProjectId, secretBox: SecretBox) {
  const id = newId('Webhook');
  const { name, url, origin, description, eventTypes, filter, payloadVersion, maxPerSecond, timeoutSeconds } = original;
  const { ordering, orderingEscapeAfterAttempts, retrySchedule } = original;
  return {
    id,
    projectId,
    name,
    url,
    origin,
    description,
    eventTypes,
    payloadVersion,
    maxPerSecond,
    timeoutSeconds,
    ordering,
    orderingEscapeAfterAttempts,
    retrySchedule,
    ...disabled(),
    filter: toInput(filter),
    secret: secretBox.seal(newWebhookSecret(), { table: 'Webhook', column: 'secret', rowId: id, projectId }),
  } satisfies Prisma.WebhookUncheckedCreateInput;
}

/** A connector for a copied project: disabled, and without the secrets in its config. */
export function connectorCopy(original: Connector, projectId: VisibleProjectId, secretBox: SecretBox) {
  const id = newId('Connector');
  const { name, type, eventTypes, filter, maxPerSecond } = original;
  const definition = getConnector(type);
  const place = { table: 'Connector', column: 'secretConfig' };
  const sealed = secretBox.open(original.secretConfig, {
    ...place,
    rowId: original.id,
    projectId: original.projectId,
  });
  const whole = JSON.parse(sealed) as ConnectorConfig;
  const secrets = new Set(secretFields(definition, whole).map(({ name }) => name));
  const config = Object.fromEntries(Object.entries(whole).filter(([name]) => !secrets.has(name)));
  return {
    id,
    projectId,
    name,
    type,
    eventTypes,
    maxPerSecond,
    ...disabled(),
    filter: toInput(filter),
    config: redactConfig(definition, config) as Prisma.InputJsonObject,
    secretConfig: secretBox.seal(JSON.stringify(config), { ...place, rowId: id, projectId }),
  } satisfies Prisma.ConnectorUncheckedCreateInput;
}

const disabled = () => ({ isActive: false, disabledAt: new Date(sharedNow()) });

/** A stored JSON value as Prisma writes it. */
function toInput(value: Prisma.JsonValue): Prisma.InputJsonValue | typeof Prisma.DbNull {
  return value === null ? Prisma.DbNull : (value as Prisma.InputJsonValue);
}
