import type { Queryable } from '../../database/client.ts';
import type { Room } from '../flow/shares.ts';
import type { ClaimedConnector, ClaimedDelivery, ClaimedWebhook } from '../model/claimed-delivery.ts';
import { CLAIM_AROUND, CLAIM_OLDEST } from './claim-statements.ts';

export type ClaimRequest = {
  limit: number;
  leaseSeconds: number;
  /** The maximum number of retries among the deliveries. */
  retryLimit: number;
  /** How many more deliveries each destination may have. 0 takes none; -3 takes only manual ones, up to three. */
  room: ReadonlyMap<string, number>;
  /** The room for every other destination. */
  defaultRoom: number;
  /** The same for accounts and origins. Default: no limit. */
  accountRoom?: Room;
  originRoom?: Room;
  /**
   * Set while a destination, account or origin has no room: the claim goes around the destinations, continuing after
   * this one. '' starts at the beginning.
   */
  after?: string;
};

export type ClaimResult = {
  deliveries: ClaimedDelivery[];
  /** Whether another claim could find more due deliveries. */
  hasMore: boolean;
  /** Milliseconds until the next delivery is due; null when none is scheduled. */
  nextDueInMilliseconds: number | null;
  /** Where the next claim continues around the destinations. */
  after: string;
};

const MAX_DESTINATIONS_A_CLAIM = 256;
const UNBOUNDED: Room = { known: new Map(), others: 2 ** 31 - 1 };

/**
 * Claims due deliveries under a lease: no other process gets them until it expires. This is one statement, so a killed
 * process leaves either nothing or a lease behind. All times come from the database's clock.
 */
export async function claimDeliveries(db: Queryable, request: ClaimRequest): Promise<ClaimResult> {
  const { limit, retryLimit, leaseSeconds, room, defaultRoom, after } = request;
  const { accountRoom = UNBOUNDED, originRoom = UNBOUNDED } = request;
  const values = [
    ...[limit, leaseSeconds, [...room.keys()], [...room.values()], defaultRoom, retryLimit],
    ...columnsOf(accountRoom),
    ...columnsOf(originRoom),
  ];
  const query =
    after === undefined
      ? { name: 'delivery_claim_oldest', text: CLAIM_OLDEST, values }
      : { name: 'delivery_claim_around', text: CLAIM_AROUND, values: [...values, after, MAX_DESTINATIONS_A_CLAIM] };
  const { rows } = await db.query<ClaimRow>(query);
  const receivedAt = performance.now();
  const { meta } = rows.find(isMeta)!;
  const databaseTime = () => meta.databaseTime + performance.now() - receivedAt;
  const webhooks = new Map(meta.webhooks.map((webhook) => [webhook.id, webhook]));
  const connectors = new Map(meta.connectors.map((connector) => [connector.id, connector]));
  const deliveries = rows.filter(isDelivery).map((row) => {
    const webhook = webhooks.get(row.destination) ?? null;
    return toDelivery(row, databaseTime, webhook, webhook ? null : connectors.get(row.destination)!);
  });
  const { hasMore, nextDueInMilliseconds } = meta;
  return { deliveries, hasMore, nextDueInMilliseconds, after: meta.after };
}

function columnsOf({ known, others }: Room): [ids: string[], slots: number[], others: number] {
  return [[...known.keys()], [...known.values()], others];
}

type MetaRow = {
  meta: {
    databaseTime: number;
    nextDueInMilliseconds: number | null;
    hasMore: boolean;
    after: string;
    webhooks: (ClaimedWebhook & DestinationColumns)[];
    connectors: (ClaimedConnector & DestinationColumns)[];
  };
};

type DestinationColumns = {
  account: string;
  origin: string;
  projectId: string;
  projectName: string;
  maxPerSecond: number | null;
  circuitOpenSeconds: number;
};

type DeliveryRow = {
  id: string;
  destination: string;
  trigger: 'SCHEDULED' | 'MANUAL';
  attemptCount: number;
  retryStep: number;
  leaseToken: number;
  errorClass: string | null;
  orderingKey: string | null;
  ageSeconds: number;
  eventId: string;
  type: string;
  version: number;
  test: boolean;
  timestamp: Date;
  data: string;
  traceContext: string | null;
};

type ClaimRow = MetaRow | (DeliveryRow & { meta: null });

const isMeta = (row: ClaimRow): row is MetaRow => row.meta !== null;
const isDelivery = (row: ClaimRow): row is DeliveryRow & { meta: null } => row.meta === null;

function toDelivery(
  row: DeliveryRow,
  databaseTime: () => number,
  webhook: (ClaimedWebhook & DestinationColumns) | null,
  connector: (ClaimedConnector & DestinationColumns) | null,
): ClaimedDelivery {
  const { account, origin, projectId, projectName, maxPerSecond, circuitOpenSeconds } = (webhook ?? connector)!;
  return {
    id: row.id,
    projectId,
    projectName,
    trigger: row.trigger,
    attemptCount: row.attemptCount,
    retryStep: row.retryStep,
    leaseToken: row.leaseToken,
    orderingKey: row.orderingKey,
    ageSeconds: row.ageSeconds,
    previousErrorClass: row.errorClass,
    traceContext: row.traceContext,
    destination: row.destination,
    account,
    origin,
    maxPerSecond,
    circuitOpenSeconds,
    event: {
      id: row.eventId,
      type: row.type,
      version: row.version,
      test: row.test,
      timestamp: row.timestamp,
      data: row.data,
    },
    webhook,
    connector,
    databaseTime,
  };
}
