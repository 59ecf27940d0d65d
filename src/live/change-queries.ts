import type pg from 'pg';
import { sharedNow } from '../clock.ts';
import type { Stored } from '../database/column-types.ts';
import { preparedStatement, runStatement, type Statement, statement, statements } from '../database/statement.ts';
import type { DeliveryColumns } from '../features/deliveries/filter.ts';
import type { PaymentColumns } from '../features/payments/filter.ts';
import { firstIdAt, millisecondsOfId } from '../ids.ts';
import {
  type Changes,
  type ChangesRequest,
  type FoundRow,
  MAX_LATENESS_MILLISECONDS,
  type Position,
  type Progress,
} from './progress.ts';

const PAGE_SIZE = 200;

/**
 * A table as `tail` reads it: only positions and transactions. The contents are loaded with the viewer's permissions.
 */
export type ChangeSource = {
  /** The progress of a follower that has seen every existing row. */
  present(): Promise<Progress>;
  query(request: ChangesRequest): Promise<Changes>;
};

type ResultRow = {
  horizon: string;
  newest: string;
  nowMilliseconds: number;
  id: string | null;
  milliseconds: number | null;
  transaction: string | null;
  isLate: boolean | null;
};
type Read = (request: Omit<ChangesRequest, 'horizon'> & { horizon: bigint | null }) => Promise<Changes>;

/**
 * Reads late rows up to a position, and a page of rows after it. A row is late if it was written by the transaction
 * `horizon` or a later one, unless that transaction is already in `shown`. `xmin` is the transaction that wrote the
 * current version of a row, and `age` compares transaction numbers across their wraparound. One statement reads one
 * snapshot, so every transaction before the returned horizon has ended and is visible. For every other transaction,
 * either all rows are visible or none are. A page of late rows starts with the oldest transaction and always includes
 * all rows of the last one.
 */
const changesQuery = (late: string, behind: string) => `
  WITH snapshot AS (
    SELECT horizon, horizon::text::bigint + age(horizon::xid) AS newest,
           floor(extract(epoch FROM now()) * 1000)::float8 AS now
      FROM pg_snapshot_xmin(pg_current_snapshot()) AS horizon
  )
  SELECT snapshot.horizon::text AS "horizon", snapshot.newest::text AS "newest", snapshot.now AS "nowMilliseconds", found.id, found.milliseconds,
         (snapshot.newest - found.age)::text AS "transaction", found."isLate"
    FROM snapshot LEFT JOIN LATERAL (
      (SELECT late.*, true AS "isLate" FROM (${late}) AS late
        ORDER BY late.age DESC FETCH FIRST ${PAGE_SIZE} ROWS WITH TIES)
      UNION ALL
      (SELECT behind.*, false FROM (${behind} LIMIT ${PAGE_SIZE}) AS behind)
    ) AS found ON true
   ORDER BY found.milliseconds, found.id`;

// A horizon in the future comes from another server: this one was restored from that server's backup. Any row might be
// late, so some rows are sent twice instead of not at all.
const isLate = (row: string, horizon: string, shown: string) => {
  const age = `age(coalesce(${horizon}::xid, snapshot.horizon::xid))`;
  return `(${age} < 0 OR age(${row}.xmin) <= ${age})
       AND snapshot.newest - age(${row}.xmin) NOT IN (SELECT unnest(${shown}::bigint[]))`;
};

const EVENT = `
    SELECT e."id", 0::float8 AS milliseconds, age(e.xmin) AS age FROM "Event" e
     WHERE e."projectId" = $1 AND ($6::text[] IS NULL OR e."type" = ANY ($6))`;

const EVENTS = preparedStatement(
  'live-events',
  changesQuery(
    `${EVENT} AND e."id" >= $2 AND e."id" <= $3 AND ${isLate('e', '$4', '$5')}`,
    `${EVENT} AND e."id" > $3 ORDER BY e."id"`,
  ),
);

const DELIVERY = `
    SELECT d."id", (extract(epoch FROM d."updatedAt") * 1000)::float8 AS milliseconds, age(d.xmin) AS age
      FROM "Delivery" d
     WHERE d."projectId" = $1
       AND ($7::text[] IS NULL OR d."status"::text = ANY ($7))
       AND ($8::text[] IS NULL OR d."eventType" = ANY ($8))
       AND ($9::timestamptz IS NULL OR d."createdAt" >= $9)
       AND ($10::timestamptz IS NULL OR d."createdAt" < $10)
       AND ($11::text IS NULL OR d."webhookId" = $11)
       AND ($12::text IS NULL OR d."connectorId" = $12)
       AND ($13::text IS NULL OR d."eventId" = $13)
       AND ($14::timestamptz IS NULL OR (d."outcome" IS NOT NULL AND d."updatedAt" >= $14))
       AND ($15::timestamptz IS NULL OR (d."outcome" IS NOT NULL AND d."updatedAt" < $15))`;

// Claims and lease extensions don't change a delivery's time, because they aren't reported.
const DELIVERIES = preparedStatement(
  'live-Delivery',
  changesQuery(
    `${DELIVERY} AND d."updatedAt" >= $2 AND (d."updatedAt", d."id") <= ($3::timestamptz, $4)
       AND ${isLate('d', '$5', '$6')} AND d."status" <> 'RUNNING'`,
    `${DELIVERY} AND (d."updatedAt", d."id") > ($3::timestamptz, $4) ORDER BY d."updatedAt", d."id"`,
  ),
);

/** When a payment settled or failed. Null until then. */
const FINISHED = `coalesce(p."settledAt", CASE WHEN p."failureStage" IS NOT NULL THEN p."updatedAt" END)`;

const PAYMENT = `
    SELECT p."id", (extract(epoch FROM p."updatedAt") * 1000)::float8 AS milliseconds, age(p.xmin) AS age
      FROM "Payment" p
     WHERE p."projectId" = $1
       AND ($7::text[] IS NULL OR p."status"::text = ANY ($7))
       AND ($8::text IS NULL OR p."endpointId" = $8)
       AND ($9::text IS NULL OR p."customerId" = $9)
       AND ($10::text IS NULL OR p."payer" = $10)
       AND ($11::text IS NULL OR p."transactionHash" = $11)
       AND ($12::text IS NULL OR p."id" >= $12)
       AND ($13::text IS NULL OR p."id" < $13)
       AND ($14::text IS NULL OR (p."paymentIdentifier" = $14 AND p."failureStage" IS NULL))
       AND ($15::numeric IS NULL OR p."amountAtomic" >= $15)
       AND ($16::numeric IS NULL OR p."amountAtomic" <= $16)
       AND ($17::timestamptz IS NULL OR ${FINISHED} >= $17)
       AND ($18::timestamptz IS NULL OR ${FINISHED} < $18)`;

// Taking or extending a lease rewrites the row without changing its time, so the row may be sent a second time.
const PAYMENTS = preparedStatement(
  'live-Payment',
  changesQuery(
    `${PAYMENT} AND p."updatedAt" >= $2 AND (p."updatedAt", p."id") <= ($3::timestamptz, $4) AND ${isLate('p', '$5', '$6')}`,
    `${PAYMENT} AND (p."updatedAt", p."id") > ($3::timestamptz, $4) ORDER BY p."updatedAt", p."id"`,
  ),
);

/** A table without a filter. */
const rowsOf = (table: 'Replay' | 'Notice') => {
  const rows = `
    SELECT r."id", (extract(epoch FROM r."updatedAt") * 1000)::float8 AS milliseconds, age(r.xmin) AS age
      FROM "${table}" r WHERE r."projectId" = $1`;
  return changesQuery(
    `${rows} AND r."updatedAt" >= $2 AND (r."updatedAt", r."id") <= ($3::timestamptz, $4) AND ${isLate('r', '$5', '$6')}`,
    `${rows} AND (r."updatedAt", r."id") > ($3::timestamptz, $4) ORDER BY r."updatedAt", r."id"`,
  );
};
const REPLAYS = preparedStatement('live-Replay', rowsOf('Replay'));
const NOTICES = preparedStatement('live-Notice', rowsOf('Notice'));

const FIND_NEWEST = statements(
  'live-newest',
  ['Delivery', 'Payment', 'Replay', 'Notice'],
  (table) =>
    `SELECT "id", "updatedAt" FROM "${table}" WHERE "projectId" = $1 ORDER BY "updatedAt" DESC, "id" DESC LIMIT 1`,
);

const BEGINNING: Position = { milliseconds: 0, id: '' };

const FIND_NEWEST_EVENT = statement(
  'live-newest-event',
  'SELECT "id" FROM "Event" WHERE "projectId" = $1 ORDER BY "id" DESC LIMIT 1',
);

export function eventChanges(pool: pg.Pool, projectId: string, types: readonly string[] | null): ChangeSource {
  const positionOf = (id: string): Position => ({ milliseconds: millisecondsOfId(id), id });

  const read: Read = async ({ sinceMilliseconds, position, horizon, shown }) => {
    const since = firstIdAt('Event', Math.max(0, sinceMilliseconds));
    const { rows } = await runStatement<ResultRow>(
      pool,
      EVENTS(projectId, since, position.id, toXid(horizon), shown, types),
    );
    return toChanges(rows, ({ id }) => positionOf(id!));
  };

  async function findNewest(): Promise<Position | undefined> {
    const { rows } = await runStatement<{ id: string }>(pool, FIND_NEWEST_EVENT(projectId));
    return rows[0] && positionOf(rows[0].id);
  }

  return { query: read, present: async () => seeAll(read, await findNewest()) };
}

export function deliveryChanges(pool: pg.Pool, projectId: string, filter: DeliveryColumns): ChangeSource {
  const { status, eventTypes, createdSince, createdBefore, webhookId, connectorId, eventId } = filter;
  const { finishedSince, finishedBefore } = filter;
  const values = [status, eventTypes, createdSince, createdBefore, webhookId, connectorId, eventId] as const;
  return versionChanges(pool, projectId, 'Delivery', (...place) =>
    DELIVERIES(...place, ...values, finishedSince, finishedBefore),
  );
}

export function paymentChanges(pool: pg.Pool, projectId: string, filter: PaymentColumns): ChangeSource {
  const { status, endpointId, customerId, payer, transactionHash, firstId, endId } = filter;
  const { identifier, minAtomic, maxAtomic, finishedSince, finishedBefore } = filter;
  const values = [status, endpointId, customerId, payer, transactionHash, firstId, endId] as const;
  const rest = [identifier, minAtomic, maxAtomic, finishedSince, finishedBefore] as const;
  return versionChanges(pool, projectId, 'Payment', (...place) => PAYMENTS(...place, ...values, ...rest));
}

export function replayChanges(pool: pg.Pool, projectId: string): ChangeSource {
  return versionChanges(pool, projectId, 'Replay', REPLAYS);
}

export function noticeChanges(pool: pg.Pool, projectId: string): ChangeSource {
  return versionChanges(pool, projectId, 'Notice', NOTICES);
}

/** The first values of the statements about tables with rows that change. */
type Place = [projectId: string, since: Date, at: Date, id: string, horizon: string | null, shown: readonly bigint[]];

/** Follows a table with rows that change, in the order of their last change. */
function versionChanges(
  pool: pg.Pool,
  projectId: string,
  table: 'Delivery' | 'Payment' | 'Replay' | 'Notice',
  changesOf: (...place: Place) => Statement<Stored<ResultRow>>,
): ChangeSource {
  const read: Read = async ({ sinceMilliseconds, position, horizon, shown }) => {
    const since = new Date(Math.max(0, sinceMilliseconds));
    const at = new Date(position.milliseconds);
    const changes = changesOf(projectId, since, at, position.id, toXid(horizon), shown);
    const { rows } = await runStatement<ResultRow>(pool, changes);
    return toChanges(rows, ({ id, milliseconds }) => ({ id: id!, milliseconds: milliseconds! }));
  };

  async function findNewest(): Promise<Position | undefined> {
    const { rows } = await runStatement(pool, FIND_NEWEST[table](projectId));
    return rows[0] && { milliseconds: rows[0].updatedAt.getTime(), id: rows[0].id };
  }

  return { query: read, present: async () => seeAll(read, await findNewest()) };
}

/**
 * After finding the newest row, reads the current transactions' rows. Later reads couldn't tell those rows from new
 * ones.
 */
async function seeAll(read: Read, newest: Position | undefined): Promise<Progress> {
  const position = newest ?? BEGINNING;
  const sinceMilliseconds = Math.min(position.milliseconds, sharedNow()) - MAX_LATENESS_MILLISECONDS;
  const shown = new Map<bigint, number>();
  for (;;) {
    const seen = await read({ position, horizon: null, shown: [...shown.keys()], sinceMilliseconds });
    for (const { transaction, milliseconds } of seen.late) shown.set(transaction, milliseconds);
    if (seen.isLateFull) continue;
    return { position, horizon: seen.horizon, readAtMilliseconds: seen.nowMilliseconds, shown };
  }
}

function toChanges(rows: ResultRow[], positionOf: (row: ResultRow) => Position): Changes {
  const { horizon, newest, nowMilliseconds } = rows[0]!;
  const find = (isLate: boolean): FoundRow[] =>
    rows
      .filter((row) => row.id !== null && row.isLate === isLate)
      .map((row) => ({ ...positionOf(row), transaction: BigInt(row.transaction!) }));
  const late = find(true);
  const behind = find(false);
  return {
    late,
    behind,
    nowMilliseconds,
    horizon: BigInt(horizon),
    newest: BigInt(newest),
    isLateFull: late.length >= PAGE_SIZE,
    isFull: behind.length === PAGE_SIZE,
  };
}

/** The 32 bits that the database stores in a row. */
function toXid(horizon: bigint | null): string | null {
  return horizon === null ? null : String(horizon % 2n ** 32n);
}
