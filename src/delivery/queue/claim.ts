import type { Queryable } from '../../database/client.ts';
import type { Capacity, OriginCapacity } from '../flow/shares.ts';
import type { ClaimedConnector, ClaimedDelivery, ClaimedWebhook } from '../model/claimed-delivery.ts';
import { CLAIM_DUE } from './claim-due-statement.ts';
import { CLAIM_PARKED, PARK } from './parked-statements.ts';

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

export type DueResult = ClaimResult & {
  /** Destinations without capacity whose deliveries block other deliveries. */
  leftOut: string[];
  /** The earliest due time found among first attempts and among retries, by the database's clock; null for none. */
  lowestDue: (number | null)[];
  /** The time of the claim in milliseconds, by the database's clock. */
  databaseMilliseconds: number;
};

export type ParkedResult = ClaimResult & {
  /** The destination to continue after; '' after the last one. */
  after: string;
  /** Visited destinations that may have more parked deliveries. */
  waiting: string[];
};

const MAX_DESTINATIONS_A_CLAIM = 256;
const MAX_PARKED_AT_ONCE = 1_000;
/** The marks for a claim from the beginning of the queue. */
export const FROM_THE_BEGINNING: readonly number[] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
const UNBOUNDED: OriginCapacity = { known: new Map(), others: 2 ** 31 - 1, shares: [] };

/**
 * Takes due deliveries from the queue under a lease: no other process gets them until the lease expires. This is one
 * statement, so a killed process leaves either nothing or a lease behind. All times come from the database's clock.
 *
 * @param from.passOver destinations to skip.
 * @param from.marks the due times in milliseconds to start from, for first attempts and for retries.
 */
export async function claimDue(
  db: Queryable,
  request: ClaimRequest,
  from: { passOver?: readonly string[]; marks?: readonly number[] } = {},
): Promise<DueResult> {
  const { passOver = [], marks = FROM_THE_BEGINNING } = from;
  const { meta, ...result } = await claim(db, 'delivery_claim_due', CLAIM_DUE, [...valuesOf(request), passOver, marks]);
  return { ...result, leftOut: meta.leftOut, lowestDue: meta.lowestDue, databaseMilliseconds: meta.databaseTime };
}

/**
 * Takes parked deliveries of destinations that have capacity now, like `claimDue`.
 *
 * @param after the destination to continue after; '' starts at the beginning.
 */
export async function claimParked(db: Queryable, request: ClaimRequest, after: string): Promise<ParkedResult> {
  const values = [...valuesOf(request), after, MAX_DESTINATIONS_A_CLAIM];
  const { meta, ...result } = await claim(db, 'delivery_claim_parked', CLAIM_PARKED, values);
  return { ...result, after: meta.after, waiting: meta.waiting };
}

/**
 * Parks one batch of the due deliveries of destinations without capacity.
 *
 * @returns whether there may be more to park.
 */
export async function park(db: Queryable, destinations: readonly string[], marks: readonly number[]): Promise<boolean> {
  const values = [destinations, MAX_PARKED_AT_ONCE, marks];
  const { rowCount } = await db.query({ name: 'delivery_park', text: PARK, values });
  return (rowCount ?? 0) >= MAX_PARKED_AT_ONCE;
}

function valuesOf({ limit, leaseSeconds, retryLimit, capacity, defaultCapacity, ...request }: ClaimRequest): unknown[] {
  const { accountCapacity = UNBOUNDED, originCapacity = UNBOUNDED } = request;
  const { shares } = originCapacity;
  return [
    ...[limit, leaseSeconds, [...capacity.keys()], [...capacity.values()], defaultCapacity, retryLimit],
    ...columnsOf(accountCapacity),
    ...columnsOf(originCapacity),
    ...[shares.map(({ origin }) => origin), shares.map(({ account }) => account), shares.map(({ slots }) => slots)],
  ];
}

async function claim(db: Queryable, name: string, text: string, values: unknown[]): Promise<ClaimResult & MetaRow> {
  const { rows } = await db.query<ClaimRow>({ name, text, values });
  const receivedAt = performance.now();
  const { meta } = rows.find(isMeta)!;
  const databaseTime = () => meta.databaseTime + performance.now() - receivedAt;
  const webhooks = new Map(meta.webhooks.map((webhook) => [webhook.id, webhook]));
  const connectors = new Map(meta.connectors.map((connector) => [connector.id, connector]));
  // Requests that share a rate limit start in this order.
  const deliveries = rows
    .filter(isDelivery)
    .sort(byUrgency)
    .map((row) => {
      const webhook = webhooks.get(row.destination) ?? null;
      return toDelivery(row, databaseTime, webhook, webhook ? null : connectors.get(row.destination)!);
    });
  const { hasMore, nextDueInMilliseconds } = meta;
  return { deliveries, hasMore, nextDueInMilliseconds, meta };
}

function columnsOf({ known, others }: Capacity): [ids: string[], slots: number[], others: number] {
  return [[...known.keys()], [...known.values()], others];
}

type MetaRow = {
  meta: {
    databaseTime: number;
    nextDueInMilliseconds: number | null;
    hasMore: boolean;
    leftOut: string[];
    lowestDue: (number | null)[];
    after: string;
    waiting: string[];
    webhooks: (ClaimedWebhook & DestinationColumns)[];
    connectors: (ClaimedConnector & DestinationColumns)[];
  };
};

type DestinationColumns = {
  account: string;
  origin: string | null;
  projectName: string;
  maxPerSecond: number | null;
  circuitOpenSeconds: number;
};

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

type ClaimRow = MetaRow | (DeliveryRow & { meta: null });

const isMeta = (row: ClaimRow): row is MetaRow => row.meta !== null;
const isDelivery = (row: ClaimRow): row is DeliveryRow & { meta: null } => row.meta === null;

/** Deliveries that someone is waiting for come first, then the rest in the order of creation. */
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
