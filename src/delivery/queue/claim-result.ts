import type { Queryable } from '../../database/client.ts';
import type { Stored } from '../../database/column-types.ts';
import { runStatement, type Statement } from '../../database/statement.ts';
import type { Capacity, OriginCapacity } from '../flow/capacity.ts';
import type { ClaimedConnector, ClaimedDelivery, ClaimedWebhook } from '../model/claimed-delivery.ts';

export type ClaimRequest = {
  limit: number;
  leaseSeconds: number;
  /** The maximum number of retries among the deliveries. */
  retryLimit: number;
  /**
   * How many more deliveries each destination can have. 0 claims none; -3 claims only manual deliveries, up to three.
   */
  capacity: ReadonlyMap<string, number>;
  /** The capacity for every other destination. */
  defaultCapacity: number;
  /** The capacity for accounts and origins. Default: no limit. */
  accountCapacity?: Capacity;
  originCapacity?: OriginCapacity;
};

export type ClaimResult = {
  deliveries: ClaimedDelivery[];
  /** Whether another claim could find more due deliveries. */
  hasMore: boolean;
  /** Milliseconds until the next delivery is due; null when none is scheduled. */
  nextDueInMilliseconds: number | null;
};

const UNBOUNDED: OriginCapacity = { known: new Map(), others: 2 ** 31 - 1, shares: [] };

/**
 * Runs a statement that `claimStatement` made, and returns the deliveries in the order in which their requests should
 * start.
 *
 * @returns also the row of `found`, and the time of the claim by the database's clock.
 */
export async function runClaim<Found extends { hasMore: boolean }>(
  db: Queryable,
  claim: Statement<Stored<ClaimRow<Found>>>,
): Promise<ClaimResult & { found: Found; databaseMilliseconds: number }> {
  const { rows } = await runStatement<ClaimRow<Found>>(db, claim);
  const receivedAt = performance.now();
  const { found, isDeferring, databaseMilliseconds, nextDueInMilliseconds, ...destinations } = rows.find(isMeta)!.meta;
  const databaseTime = () => databaseMilliseconds + performance.now() - receivedAt;
  const webhooks = new Map(destinations.webhooks.map((webhook) => [webhook.id, webhook]));
  const connectors = new Map(destinations.connectors.map((connector) => [connector.id, connector]));
  const deliveries = rows
    .filter(isDelivery)
    .sort(byUrgency)
    .map((row) => {
      const webhook = webhooks.get(row.destination) ?? null;
      return toDelivery(row, databaseTime, webhook, webhook ? null : connectors.get(row.destination)!);
    });
  return { deliveries, hasMore: found.hasMore || isDeferring, nextDueInMilliseconds, found, databaseMilliseconds };
}

/** The parameters $1 to $15 of `claimStatement`. */
export function requestValues(request: ClaimRequest) {
  const { capacity, accountCapacity = UNBOUNDED, originCapacity = UNBOUNDED } = request;
  const { shares } = originCapacity;
  return [
    request.limit,
    request.leaseSeconds,
    [...capacity.keys()],
    [...capacity.values()],
    request.defaultCapacity,
    request.retryLimit,
    [...accountCapacity.known.keys()],
    [...accountCapacity.known.values()],
    accountCapacity.others,
    [...originCapacity.known.keys()],
    [...originCapacity.known.values()],
    originCapacity.others,
    shares.map(({ origin }) => origin),
    shares.map(({ account }) => account),
    shares.map(({ slots }) => slots),
  ] as const;
}

type MetaRow<Found> = {
  meta: {
    found: Found;
    /** Whether deliveries were deferred, which had taken slots from other due deliveries. */
    isDeferring: boolean;
    databaseMilliseconds: number;
    nextDueInMilliseconds: number | null;
    webhooks: (ClaimedWebhook & DestinationColumns)[];
    connectors: (ClaimedConnector & DestinationColumns)[];
  };
};

type DestinationColumns = Pick<
  ClaimedDelivery,
  'account' | 'origin' | 'projectName' | 'maxPerSecond' | 'circuitOpenSeconds'
>;

type DeliveryRow = {
  id: string;
  /** The project of the delivery itself, because a deleted destination belongs to a different project. */
  projectId: string;
  destination: string;
  trigger: 'SCHEDULED' | 'MANUAL';
  isUrgent: boolean;
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

type ClaimRow<Found> = MetaRow<Found> | (DeliveryRow & { meta: null });

const isMeta = <Found>(row: ClaimRow<Found>): row is MetaRow<Found> => row.meta !== null;
const isDelivery = <Found>(row: ClaimRow<Found>): row is DeliveryRow & { meta: null } => row.meta === null;

/**
 * Deliveries that someone is waiting for come first, then the rest in the order of creation. Requests that share a rate
 * limit start in this order.
 */
function byUrgency(a: DeliveryRow, b: DeliveryRow): number {
  if (a.isUrgent !== b.isUrgent) return a.isUrgent ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

function toDelivery(
  row: DeliveryRow,
  databaseTime: () => number,
  webhook: (ClaimedWebhook & DestinationColumns) | null,
  connector: (ClaimedConnector & DestinationColumns) | null,
): ClaimedDelivery {
  const { account, origin, projectName, maxPerSecond, circuitOpenSeconds } = (webhook ?? connector)!;
  return {
    id: row.id,
    projectId: row.projectId,
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
