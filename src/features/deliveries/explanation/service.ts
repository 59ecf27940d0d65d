import type { ConnectorDefinition, ConnectorMemory } from '../../../connectors/definition.ts';
import { type ConnectorConfig, secretFields } from '../../../connectors/describe.ts';
import type { Database } from '../../../database/client.ts';
import type { ClaimedEvent } from '../../../delivery/model/claimed-delivery.ts';
import { rebuildConnectorRequest, rebuildWebhookRequest } from '../../../delivery/send/rebuild-request.ts';
import { retryScheduleOf } from '../../../delivery/send/retry-policy.ts';
import type { WebhookCredentials } from '../../../delivery/send/webhook-credentials.ts';
import { sentHeaders } from '../../../egress/exchange.ts';
import { notFound } from '../../../errors.ts';
import type { PayloadVersions } from '../../../events/versions.ts';
import type { Attempt, Connector, Delivery, Webhook } from '../../../generated/prisma/client.ts';
import { maskUrl } from '../../../secrets/mask-url.ts';
import type { SecretBox } from '../../../secrets/secret-box.ts';
import { type CurlCommand, connectorCurl, webhookCurl } from './curl.ts';
import {
  type DeliveryFacts,
  type DeliveryPhase,
  type DestinationState,
  explainInWords,
  type RemainingTry,
  remainingTries,
  slowestPhase,
} from './words.ts';

export type ExplanationOptions = {
  db: Database;
  secretBox: Pick<SecretBox, 'open'>;
  connectors: (type: string) => ConnectorDefinition | undefined;
  userAgent: string;
  payloadVersions?: PayloadVersions | undefined;
  /** Replaces every retry schedule, for tests. */
  retryScheduleSeconds?: readonly number[] | undefined;
};

export type DeliveryExplanation = {
  delivery: Delivery;
  summary: string;
  next: string;
  advice: string | null;
  remainingTries: RemainingTry[];
  lastAttempt: Attempt | null;
  slowestPhase: DeliveryPhase | null;
  slowestPhaseMs: number | null;
  destination: DestinationState;
  curl: CurlCommand | null;
};

type EventRow = ClaimedEvent & { projectName: string; now: Date };

/** Creates the function that explains a delivery. It throws AppError `NOT_FOUND` if the delivery no longer exists. */
export function createExplainer(options: ExplanationOptions) {
  const { db, secretBox, connectors, userAgent, payloadVersions, retryScheduleSeconds } = options;
  return async function explain(delivery: Delivery): Promise<DeliveryExplanation> {
    const [event, webhook, connector, lastAttempt] = await Promise.all([
      readEvent(delivery),
      delivery.webhookId ? db.prisma.webhook.findUnique({ where: { id: delivery.webhookId } }) : null,
      delivery.connectorId ? db.prisma.connector.findUnique({ where: { id: delivery.connectorId } }) : null,
      db.prisma.attempt.findFirst({ where: { deliveryId: delivery.id }, orderBy: { number: 'desc' } }),
    ]);
    const row = webhook ?? connector;
    if (!event || !row) throw notFound();

    const definition = connector ? connectors(connector.type) : undefined;
    const title = connector ? (definition?.title ?? connector.type) : 'webhook';
    const destination = { ...toState(row, title, event.now), advice: definition?.advice };
    const schedule = retryScheduleOf({ webhook, definition }, retryScheduleSeconds);
    const facts: DeliveryFacts = {
      ...{ delivery, destination, lastAttempt, now: event.now },
      retryScheduleSeconds: ifAllFail(schedule, definition, lastAttempt),
    };
    const slowest = lastAttempt && slowestPhase(lastAttempt);
    return {
      ...explainInWords(facts),
      ...{ delivery, lastAttempt, destination },
      remainingTries: remainingTries(facts),
      slowestPhase: slowest?.phase ?? null,
      slowestPhaseMs: slowest?.milliseconds ?? null,
      curl: webhook
        ? webhook.url === ''
          ? null
          : curlToWebhook(event, webhook)
        : curlToConnector(event, connector!, delivery, lastAttempt),
    };
  };

  /** The data is read as text: parsing it would lose its exact bytes. */
  async function readEvent({ eventId }: Delivery): Promise<EventRow | undefined> {
    const { rows } = await db.pool.query<EventRow>(
      `SELECT e."id", e."type", e."version", e."test", e."timestamp", e."data"::text AS "data", p."name" AS "projectName", now() AS "now"
       FROM "Event" e JOIN "Project" p ON p."id" = e."projectId" WHERE e."id" = $1`,
      [eventId],
    );
    return rows[0];
  }

  function curlToWebhook(event: EventRow, webhook: Webhook): CurlCommand {
    const { url, projectId, payloadVersion } = webhook;
    const context = { projectId, url, userAgent, payloadVersion, payloadVersions };
    const request = rebuildWebhookRequest(event, context);
    const ownHeaders = ownHeaderNames(webhook.credentials as WebhookCredentials | null);
    return webhookCurl({ ...request, headers: sentHeaders(request) }, { hidesUrl: maskUrl(url) !== url, ownHeaders });
  }

  function curlToConnector(
    event: EventRow,
    connector: Connector,
    { attemptCount }: Delivery,
    lastAttempt: Attempt | null,
  ): CurlCommand | null {
    const definition = connectors(connector.type);
    // A deleted connector has no config left.
    if (!definition || connector.secretConfig === '') return null;
    const { id, projectId, eventTypes, secretConfig } = connector;
    const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
    const config: ConnectorConfig = JSON.parse(secretBox.open(secretConfig, cell));
    const request = rebuildConnectorRequest(event, definition, {
      ...{ projectId, config, userAgent },
      projectName: event.projectName,
      connector: { id, eventTypes, memory: connector.memory as ConnectorMemory },
      attemptNumber: Math.max(1, attemptCount),
      now: lastAttempt?.startedAt ?? event.now,
    });
    if (!request) return null;
    return connectorCurl({ ...request, headers: sentHeaders(request) }, secretFields(definition, config)) ?? null;
  }
}

/** The names of a webhook's own headers, and of the one that its authentication adds. Their values aren't shown. */
function ownHeaderNames(credentials: WebhookCredentials | null): string[] {
  const names = credentials?.headers.map(({ name }) => name.toLowerCase()) ?? [];
  return credentials?.authentication ? [...names, 'authorization'] : names;
}

/** The retries of a delivery if the next attempts fail in the same way. */
function ifAllFail(
  schedule: readonly number[],
  definition: ConnectorDefinition | undefined,
  lastAttempt: Attempt | null,
): readonly number[] {
  const { maxFailedRuns } = definition ?? {};
  return lastAttempt?.statusCode === 500 && maxFailedRuns ? schedule.slice(0, maxFailedRuns - 1) : schedule;
}

function toState(destination: Webhook | Connector, title: string, now: Date): DestinationState {
  const { id, isActive, disabledReason, disabledAt, pausedReason, pausedAt, failingSince, circuitOpenUntil } =
    destination;
  const isSlowedDown = circuitOpenUntil !== null && circuitOpenUntil > now;
  const nextProbeAt = 'nextProbeAt' in destination ? destination.nextProbeAt : null;
  return {
    ...{ id, title, isActive, disabledReason, disabledAt, failingSince, isSlowedDown },
    pausedReason,
    pausedAt,
    nextProbeAt,
  };
}
