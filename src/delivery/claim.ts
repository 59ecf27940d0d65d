import type { ConnectorMemory } from '../connectors/definition.ts';
import { CLAIM_AROUND, CLAIM_OLDEST } from './claim-statements.ts';
import type { Queryable } from './queue.ts';
import type { ClaimedDelivery } from './types.ts';

export type ClaimRequest = {
  limit: number;
  leaseSeconds: number;
  /** The most of them that were tried before. */
  retryLimit: number;
  /** How many more deliveries each of these destinations may have; 0 leaves it out, -3 takes three sent by hand alone. */
  room: ReadonlyMap<string, number>;
  /** The room of every other destination. */
  defaultRoom: number;
  /** Set while some destination has no room: where `claimAround` goes on, '' for the beginning. */
  after?: string;
};

export type Claim = {
  deliveries: ClaimedDelivery[];
  /** Due deliveries were left behind that another claim could find. */
  hasMore: boolean;
  /** Milliseconds until the next delivery becomes due; null when none is scheduled. */
  nextDueInMilliseconds: number | null;
  /** Where the next round over the destinations goes on. */
  after: string;
};

const MAX_DESTINATIONS_A_CLAIM = 256;

/**
 * Takes due deliveries under a lease: nobody else gets them until it ends. One statement, so that a killed process
 * leaves either nothing or a lease behind. All times are those of the database.
 */
export async function claimDeliveries(db: Queryable, request: ClaimRequest): Promise<Claim> {
  const { limit, retryLimit, leaseSeconds, room, defaultRoom, after } = request;
  const values = [limit, leaseSeconds, [...room.keys()], [...room.values()], defaultRoom, retryLimit];
  const query =
    after === undefined
      ? { name: 'delivery_claim_oldest', text: CLAIM_OLDEST, values }
      : { name: 'delivery_claim_around', text: CLAIM_AROUND, values: [...values, after, MAX_DESTINATIONS_A_CLAIM] };
  const { rows } = await db.query<ClaimRow>(query);
  const receivedAt = performance.now();
  const meta = rows[0]!;
  const databaseTime = () => meta.databaseTime + performance.now() - receivedAt;
  return {
    deliveries: rows.filter(isClaimed).map((row) => toDelivery(row, databaseTime)),
    hasMore: meta.hasMore,
    nextDueInMilliseconds: meta.nextDueInMilliseconds,
    after: meta.after,
  };
}

type MetaRow = {
  databaseTime: number;
  nextDueInMilliseconds: number | null;
  hasMore: boolean;
  after: string;
};

type DeliveryRow = MetaRow & {
  id: string;
  projectId: string;
  projectName: string;
  trigger: 'SCHEDULED' | 'MANUAL';
  attemptCount: number;
  retryStep: number;
  leaseToken: number;
  errorClass: string | null;
  orderingKey: string | null;
  ageSeconds: number;
  maxPerSecond: number | null;
  circuitOpenSeconds: number;
  eventId: string;
  type: string;
  version: number;
  test: boolean;
  timestamp: Date;
  data: string;
  traceContext: string | null;
} & (WebhookColumns | ConnectorColumns);

type WebhookColumns = {
  webhookId: string;
  url: string;
  webhookIsActive: boolean;
  webhookIsFailing: boolean;
  payloadVersion: number;
  secret: string;
  previousSecret: string | null;
};

type ConnectorColumns = {
  webhookId: null;
  connectorId: string;
  connectorType: string;
  connectorIsActive: boolean;
  connectorIsFailing: boolean;
  connectorIsPaused: boolean;
  secretConfig: string;
  eventTypes: string[];
  memory: ConnectorMemory;
};

type ClaimRow = (MetaRow & { id: null }) | DeliveryRow;

function isClaimed(row: ClaimRow): row is DeliveryRow {
  return row.id !== null;
}

function toDelivery(row: DeliveryRow, databaseTime: () => number): ClaimedDelivery {
  const { id, projectId, projectName, trigger, attemptCount, retryStep, leaseToken, orderingKey, ageSeconds } = row;
  return {
    ...{ id, projectId, projectName, trigger, attemptCount, retryStep, leaseToken, orderingKey, ageSeconds },
    previousErrorClass: row.errorClass,
    traceContext: row.traceContext,
    destination: row.webhookId ?? row.connectorId,
    maxPerSecond: row.maxPerSecond,
    circuitOpenSeconds: row.circuitOpenSeconds,
    event: {
      ...{ id: row.eventId, type: row.type, version: row.version, test: row.test },
      ...{ timestamp: row.timestamp, data: row.data },
    },
    webhook: row.webhookId === null ? null : toWebhook(row),
    connector: row.webhookId === null ? toConnector(row) : null,
    databaseTime,
  };
}

function toWebhook(row: WebhookColumns) {
  const { webhookId, url, payloadVersion, secret, previousSecret } = row;
  return {
    ...{ id: webhookId, url, payloadVersion, secret, previousSecret },
    isActive: row.webhookIsActive,
    isFailing: row.webhookIsFailing,
  };
}

function toConnector(row: ConnectorColumns) {
  const { connectorId, connectorType, secretConfig, eventTypes, memory } = row;
  return {
    ...{ id: connectorId, type: connectorType, secretConfig, eventTypes, memory },
    isActive: row.connectorIsActive,
    isFailing: row.connectorIsFailing,
    isPaused: row.connectorIsPaused,
  };
}
