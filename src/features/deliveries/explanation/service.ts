import type { ConnectorDefinition, ConnectorMemory } from '../../../connectors/definition.ts';
import { type ConnectorConfig, secretFields } from '../../../connectors/describe.ts';
import { runStatement, statement } from '../../../database/statement.ts';
import type { TenantDatabase } from '../../../database/tenant-client.ts';
import { belongingTo } from '../../../database/tenant-filter.ts';
import type { ClaimedEvent } from '../../../delivery/model/claimed-delivery.ts';
import { rebuildConnectorRequest, rebuildWebhookRequest } from '../../../delivery/send/rebuild-request.ts';
import { retryScheduleOf } from '../../../delivery/send/retry-policy.ts';
import type { WebhookCredentials } from '../../../delivery/send/webhook-credentials.ts';
import { sentHeaders } from '../../../egress/exchange.ts';
import { notFound } from '../../../errors.ts';
import type { PayloadVersions } from '../../../events/versions.ts';
import type { Attempt, Connector, Delivery, Webhook } from '../../../generated/prisma/client.ts';
import { maskUrl } from '../../../secrets/mask-url.ts';
import { scrub } from '../../../secrets/redact.ts';
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
  db: TenantDatabase;
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
  /** The request's body, with secrets masked. Null if no request can be built. */
  requestBody: string | null;
  curl: CurlCommand | null;
};

type ShownRequest = Pick<DeliveryExplanation, 'requestBody' | 'curl'>;

const NO_REQUEST: ShownRequest = { requestBody: null, curl: null };

type EventRow = ClaimedEvent & { projectName: string; now: Date };

const READ_EVENT = statement(
  'delivery-explanation-event',
  `SELECT e."id", e."type", e."version", e."test", e."timestamp", e."data"::text AS "data", p."name" AS "projectName", now() AS "now"
   FROM "Event" e JOIN "Project" p ON p."id" = e."projectId" WHERE e."id" = $1`,
);

/** Creates the function that explains a delivery. It throws AppError `NOT_FOUND` if the delivery no longer exists. */
export function createExplainer(options: ExplanationOptions) {
  const { db, secretBox, connectors, userAgent, payloadVersions, retryScheduleSeconds } = options;
  return async function explain(delivery: Delivery): Promise<DeliveryExplanation> {
    const [event, webhook, connector, lastAttempt] = await Promise.all([
      readEvent(delivery),
      delivery.webhookId
        ? db.prisma.webhook.findUnique({ where: belongingTo(delivery, { id: delivery.webhookId }) })
        : null,
      delivery.connectorId
        ? db.prisma.connector.findUnique({ where: belongingTo(delivery, { id: delivery.connectorId }) })
        : null,
      db.prisma.attempt.findFirst({
        where: belongingTo(delivery, { deliveryId: delivery.id }),
        orderBy: { number: 'desc' },
      }),
    ]);
    const row = webhook ?? connector;
    if (!event || !row) throw notFound();

    const definition = connector ? connectors(connector.type) : undefined;
    const title = connector ? (definition?.title ?? connector.type) : 'webhook';
    const destination = { ...toState(row, title, event.now), advice: definition?.advice };
    const schedule = retryScheduleOf({ webhook, definition }, retryScheduleSeconds);
    const facts: DeliveryFacts = {
      delivery,
      destination,
      lastAttempt,
      now: event.now,
      retryScheduleSeconds: ifAllFail(schedule, definition, lastAttempt),
    };
    const slowest = lastAttempt && slowestPhase(lastAttempt);
    return {
      ...explainInWords(facts),
      delivery,
      lastAttempt,
      destination,
      remainingTries: remainingTries(facts),
      slowestPhase: slowest?.phase ?? null,
      slowestPhaseMs: slowest?.milliseconds ?? null,
      ...(webhook
        ? showWebhookRequest(event, webhook)
        : showConnectorRequest(event, connector!, delivery, lastAttempt)),
    };
  };

  /** The data is read as text: parsing it would lose its exact bytes. */
  async function readEvent({ eventId }: Delivery): Promise<EventRow | undefined> {
    const { rows } = await runStatement<EventRow>(db.pool, READ_EVENT(eventId));
    return rows[0];
  }

  function showWebhookRequest(event: EventRow, webhook: Webhook): ShownRequest {
    const { url, projectId, payloadVersion } = webhook;
    // A deleted webhook no longer has a URL.
    if (url === '') return NO_REQUEST;
    const context = { projectId, url, userAgent, payloadVersion, payloadVersions };
    const request = rebuildWebhookRequest(event, context);
    const ownHeaders = ownHeaderNames(webhook.credentials as WebhookCredentials | null);
    const sent = { ...request, headers: sentHeaders(request) };
    return {
      requestBody: request.body ?? null,
      curl: webhookCurl(sent, { hidesUrl: maskUrl(url) !== url, ownHeaders }),
    };
  }

  function showConnectorRequest(
    event: EventRow,
    connector: Connector,
    { attemptCount }: Delivery,
    lastAttempt: Attempt | null,
  ): ShownRequest {
    const definition = connectors(connector.type);
    // A deleted connector no longer has a config.
    if (!definition || connector.secretConfig === '') return NO_REQUEST;
    const { id, projectId, eventTypes, secretConfig } = connector;
    const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
    const config: ConnectorConfig = JSON.parse(secretBox.open(secretConfig, cell));
    const request = rebuildConnectorRequest(event, definition, {
      projectId,
      config,
      userAgent,
      projectName: event.projectName,
      connector: { id, eventTypes, memory: connector.memory as ConnectorMemory },
      attemptNumber: Math.max(1, attemptCount),
      now: lastAttempt?.startedAt ?? event.now,
    });
    if (!request) return NO_REQUEST;
    const secrets = secretFields(definition, config);
    const values = secrets.map(({ value }) => value);
    return {
      requestBody: request.body === undefined ? null : scrub(request.body, values),
      curl: connectorCurl({ ...request, headers: sentHeaders(request) }, secrets) ?? null,
    };
  }
}

/** The names of a webhook's custom headers and of the header that its authentication adds, without their values. */
function ownHeaderNames(credentials: WebhookCredentials | null): string[] {
  const names = credentials?.headers.map(({ name }) => name.toLowerCase()) ?? [];
  return credentials?.authentication ? [...names, 'authorization'] : names;
}

/** The retries that a delivery gets if its next attempts fail in the same way. */
function ifAllFail(
  schedule: readonly number[],
  definition: ConnectorDefinition | undefined,
  lastAttempt: Attempt | null,
): readonly number[] {
  const { failedRuns } = definition ?? {};
  const { statusCode = null, responseBody = null } = lastAttempt ?? {};
  if (!failedRuns || statusCode === null) return schedule;
  return failedRuns.includes({ statusCode, body: responseBody ?? '' })
    ? schedule.slice(0, failedRuns.maxAttempts - 1)
    : schedule;
}

function toState(destination: Webhook | Connector, title: string, now: Date): DestinationState {
  const { id, isActive, disabledReason, disabledAt, pausedReason, pausedAt, failingSince, circuitOpenUntil } =
    destination;
  const isSlowedDown = circuitOpenUntil !== null && circuitOpenUntil > now;
  const nextProbeAt = 'nextProbeAt' in destination ? destination.nextProbeAt : null;
  return {
    id,
    title,
    isActive,
    disabledReason,
    disabledAt,
    failingSince,
    isSlowedDown,
    pausedReason,
    pausedAt,
    nextProbeAt,
  };
}
