import type { ConnectorMemory } from '../connectors/definition.ts';
import { ORDERING_COLUMNS, WAITING } from './ordering.ts';
import type { Queryable } from './queue.ts';
import type { ClaimedDelivery } from './types.ts';

export type ClaimRequest = {
  limit: number;
  leaseSeconds: number;
  /** How many more deliveries each of these destinations may have in flight; 0 leaves it out. */
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

// The same expression as in the index "Delivery_destination_due".
const DESTINATION = `coalesce("webhookId", "connectorId")`;

// Stored times are rounded to milliseconds, so what was made due this moment may lie a little ahead.
const DUE = `now() + interval '1 millisecond'`;

/** The room of each destination, as a table. */
const ROOM = `room AS (SELECT * FROM unnest($3::text[], $4::int[]) AS room(destination, slots))`;

/**
 * Takes what `picked` has locked, but for what has to wait for its turn, and reads all that is needed to send it. The
 * ids go through an array because a planner that cannot know how few they are might otherwise read the whole table.
 */
const TAKE = `
  ${WAITING},
  claimed AS (
    UPDATE "Delivery" SET
      "status" = 'RUNNING',
      "leasedUntil" = now() + make_interval(secs => $2),
      "leaseToken" = "leaseToken" + 1
    WHERE "id" = ANY(ARRAY(SELECT "id" FROM picked EXCEPT ALL SELECT "id" FROM waiting))
    RETURNING *
  )
  SELECT
    meta.*,
    d."id", d."projectId", d."trigger", d."attemptCount", d."retryStep", d."leaseToken", d."errorClass", d."orderingKey",
    extract(epoch FROM now() - d."createdAt")::float8 AS "ageSeconds",
    p."name" AS "projectName",
    e."id" AS "eventId", e."type", e."version", e."test", e."timestamp", e."data"::text AS "data", e."traceContext",
    w."id" AS "webhookId", w."url", w."isActive" AS "webhookIsActive", w."payloadVersion", w."secret",
    w."failingSince" IS NOT NULL AS "webhookIsFailing",
    CASE WHEN w."previousSecretExpiresAt" > now() THEN w."previousSecret" END AS "previousSecret",
    c."id" AS "connectorId", c."type" AS "connectorType", c."isActive" AS "connectorIsActive",
    c."failingSince" IS NOT NULL AS "connectorIsFailing", c."pausedAt" IS NOT NULL AS "connectorIsPaused",
    c."secretConfig", c."eventTypes", c."memory"
  FROM meta
  LEFT JOIN (
    claimed d
    JOIN "Event" e ON e."id" = d."eventId"
    JOIN "Project" p ON p."id" = d."projectId"
    LEFT JOIN "Webhook" w ON w."id" = d."webhookId"
    LEFT JOIN "Connector" c ON c."id" = d."connectorId"
  ) ON true`;

const META_TIMES = `
  extract(epoch FROM now())::float8 * 1000 AS "databaseTime",
  (
    SELECT extract(epoch FROM "nextAttemptAt" - now())::float8 * 1000 FROM "Delivery"
    WHERE "status" = 'PENDING' AND "nextAttemptAt" > ${DUE} ORDER BY "nextAttemptAt" LIMIT 1
  ) AS "nextDueInMilliseconds"`;

/** The oldest due deliveries. What exceeds the room of its destination is left. */
const CLAIM_OLDEST = `
  WITH ${ROOM},
  due AS (
    SELECT ${ORDERING_COLUMNS}, ${DESTINATION} AS destination, "nextAttemptAt" FROM "Delivery"
    WHERE "status" = 'PENDING' AND "nextAttemptAt" <= ${DUE}
    ORDER BY "nextAttemptAt" LIMIT $1
    FOR UPDATE SKIP LOCKED
  ),
  ranked AS (
    SELECT due.*, row_number() OVER (PARTITION BY destination ORDER BY "nextAttemptAt", "id") AS position
    FROM due
  ),
  picked AS (
    SELECT ${ORDERING_COLUMNS} FROM ranked LEFT JOIN room USING (destination)
    WHERE position <= coalesce(room.slots, $5)
  ),
  meta AS (
    SELECT seen.due >= $1 OR seen.picked < seen.due AS "hasMore", '' AS "after", ${META_TIMES}
    FROM (SELECT (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM picked) AS picked) AS seen
  ),
  ${TAKE}`;

const NEXT_DESTINATION = (after: string) => `
  SELECT ${DESTINATION} AS destination FROM "Delivery"
  WHERE "status" = 'PENDING' AND "nextAttemptAt" IS NOT NULL AND ${DESTINATION} > ${after}
  ORDER BY ${DESTINATION} LIMIT 1`;

/**
 * Goes from destination to destination by the index and takes from each what it has room for, so that the backlog of a
 * destination without room costs nothing: the claim for when there is one. Looks at $7 destinations at most.
 */
const CLAIM_AROUND = `
  WITH RECURSIVE ${ROOM},
  around AS (
    (SELECT destination, 1 AS position FROM (${NEXT_DESTINATION('$6::text')}) AS first)
    UNION ALL
    SELECT (${NEXT_DESTINATION('around.destination')}), position + 1
    FROM around WHERE around.destination IS NOT NULL AND position < $7
  ),
  picked AS (
    SELECT due.*, around.destination
    FROM around
    LEFT JOIN room USING (destination)
    CROSS JOIN LATERAL (
      SELECT ${ORDERING_COLUMNS} FROM "Delivery"
      WHERE "status" = 'PENDING' AND "nextAttemptAt" <= ${DUE} AND ${DESTINATION} = around.destination
      ORDER BY "nextAttemptAt" LIMIT coalesce(room.slots, $5)
      FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE around.destination IS NOT NULL
    LIMIT $1
  ),
  seen AS (
    SELECT count(*) >= $1 AS "isFull", max(destination) AS last FROM picked
  ),
  progress AS (
    SELECT count(destination) >= $7 AS "isCut", max(destination) AS last FROM around
  ),
  meta AS (
    SELECT
      seen."isFull" OR progress."isCut" AS "hasMore",
      CASE WHEN seen."isFull" THEN seen.last WHEN progress."isCut" THEN progress.last ELSE '' END AS "after",
      ${META_TIMES}
    FROM seen, progress
  ),
  ${TAKE}`;

const MAX_DESTINATIONS_A_CLAIM = 256;

/**
 * Takes due deliveries under a lease: nobody else gets them until it ends. One statement, so that a killed process
 * leaves either nothing or a lease behind. All times are those of the database.
 */
export async function claimDeliveries(db: Queryable, request: ClaimRequest): Promise<Claim> {
  const { limit, leaseSeconds, room, defaultRoom, after } = request;
  const values = [limit, leaseSeconds, [...room.keys()], [...room.values()], defaultRoom];
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
