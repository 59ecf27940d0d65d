import type pg from 'pg';
import { firstIdAt, millisecondsOfId } from '../ids.ts';
import {
  type FoundRow,
  isBehind,
  type Look,
  type LookRequest,
  MAX_LATENESS_MILLISECONDS,
  type Position,
  type Progress,
} from './tail.ts';

const PAGE_SIZE = 200;

/** One table as `tail` reads it: only where rows stand and who wrote them. What they say is read with the viewer's eyes. */
export type LookableTable = {
  /** Sees what is there, as the progress of one who has seen it all. */
  present(): Promise<Progress>;
  look(request: LookRequest): Promise<Look>;
};

type SnapshotRow = { horizon: string; nowMilliseconds: number };
type ResultRow = SnapshotRow & { id: string | null; milliseconds: number | null; ahead: number | null };

/**
 * Rows behind a position, and rows up to it that the transaction `horizon` or a later one has written. `xmin` is the
 * transaction that wrote the row as it is; `age` compares such numbers across their wraparound. Everything comes from one
 * statement, and so from one snapshot: every transaction before its `horizon` has ended and is seen.
 */
const look = (rows: string) => `
  WITH snapshot AS (
    SELECT pg_snapshot_xmin(pg_current_snapshot()) AS horizon, floor(extract(epoch FROM now()) * 1000)::float8 AS now
  )
  SELECT snapshot.horizon::text AS "horizon", snapshot.now AS "nowMilliseconds",
         found.id, found.milliseconds, age(snapshot.horizon::xid) - found.age AS "ahead"
    FROM snapshot LEFT JOIN LATERAL (${rows} LIMIT ${PAGE_SIZE}) AS found ON true`;

const EVENTS = look(`
    SELECT e."id", NULL::float8 AS milliseconds, age(e.xmin) AS age
      FROM "Event" e
     WHERE e."projectId" = $1 AND e."id" >= $2 AND e."id" > $5
       AND (e."id" > $3 OR age(e.xmin) <= age(coalesce($4::xid, snapshot.horizon::xid)))
       AND ($6::text[] IS NULL OR e."type" = ANY ($6))
     ORDER BY e."id"`);

// A claim, and the extension of its lease, leave the time of a delivery as it is: they are not news.
const DELIVERIES = look(`
    SELECT d."id", (extract(epoch FROM d."updatedAt") * 1000)::float8 AS milliseconds, age(d.xmin) AS age
      FROM "Delivery" d
     WHERE d."projectId" = $1 AND d."updatedAt" >= $2
       AND ((d."updatedAt", d."id") > ($3::timestamptz, $4)
            OR (age(d.xmin) <= age(coalesce($5::xid, snapshot.horizon::xid)) AND d."status" <> 'RUNNING'))
       AND (d."updatedAt", d."id") > ($6::timestamptz, $7)
       AND ($8::text[] IS NULL OR d."status"::text = ANY ($8))
       AND ($9::text[] IS NULL OR d."eventType" = ANY ($9))
       AND ($10::timestamptz IS NULL OR d."createdAt" >= $10)
     ORDER BY d."updatedAt", d."id"`);

const BEGINNING: Position = { milliseconds: 0, id: '' };

export function lookAtEvents(pool: pg.Pool, projectId: string, types: readonly string[] | null): LookableTable {
  const placeOf = (id: string): Position => ({ milliseconds: millisecondsOfId(id), id });
  const read = async (request: Omit<LookRequest, 'horizon'> & { horizon: bigint | null }) =>
    toLook(
      await pool.query<ResultRow>({
        name: 'live-events',
        text: EVENTS,
        values: [
          projectId,
          firstIdAt('Event', Math.max(0, request.sinceMilliseconds)),
          request.position.id,
          toXid(request.horizon),
          request.from?.id ?? '',
          types,
        ],
      }),
      ({ id }) => placeOf(id!),
    );
  return {
    look: read,
    present: () =>
      seeAll(read, async () => {
        const { rows } = await pool.query<{ id: string }>(
          'SELECT "id" FROM "Event" WHERE "projectId" = $1 ORDER BY "id" DESC LIMIT 1',
          [projectId],
        );
        return rows[0] && placeOf(rows[0].id);
      }),
  };
}

export type DeliveryFilter = {
  status: readonly string[] | null;
  eventTypes: readonly string[] | null;
  createdSince: Date | null;
};

export function lookAtDeliveries(pool: pg.Pool, projectId: string, filter: DeliveryFilter): LookableTable {
  const read = async (request: Omit<LookRequest, 'horizon'> & { horizon: bigint | null }) => {
    const { sinceMilliseconds, position, from = BEGINNING } = request;
    const { status, eventTypes, createdSince } = filter;
    return toLook(
      await pool.query<ResultRow>({
        name: 'live-deliveries',
        text: DELIVERIES,
        values: [
          projectId,
          new Date(Math.max(0, sinceMilliseconds)),
          ...[new Date(position.milliseconds), position.id, toXid(request.horizon)],
          ...[new Date(from.milliseconds), from.id],
          ...[status, eventTypes, createdSince],
        ],
      }),
      ({ id, milliseconds }) => ({ id: id!, milliseconds: milliseconds! }),
    );
  };
  return {
    look: read,
    present: () =>
      seeAll(read, async () => {
        const { rows } = await pool.query<{ id: string; updatedAt: Date }>(
          'SELECT "id", "updatedAt" FROM "Delivery" WHERE "projectId" = $1 ORDER BY "updatedAt" DESC, "id" DESC LIMIT 1',
          [projectId],
        );
        return rows[0] && { milliseconds: rows[0].updatedAt.getTime(), id: rows[0].id };
      }),
  };
}

type Read = (request: Omit<LookRequest, 'horizon'> & { horizon: bigint | null }) => Promise<Look>;

/** The newest row first, then one look for what later ones cannot tell from news: written by transactions of this moment. */
async function seeAll(read: Read, findNewest: () => Promise<Position | undefined>): Promise<Progress> {
  const position = (await findNewest()) ?? BEGINNING;
  const { rows, horizon, nowMilliseconds } = await read({
    position,
    horizon: null,
    sinceMilliseconds: Math.min(position.milliseconds, Date.now()) - MAX_LATENESS_MILLISECONDS,
    from: undefined,
  });
  const seen = rows.filter((row) => !isBehind(row, position));
  return {
    position,
    horizon,
    lookedAtMilliseconds: nowMilliseconds,
    shown: new Map(seen.map(({ transaction, milliseconds }) => [transaction, milliseconds])),
  };
}

function toLook({ rows }: pg.QueryResult<ResultRow>, placeOf: (row: ResultRow) => Position): Look {
  const { horizon: horizonText, nowMilliseconds } = rows[0]!;
  const horizon = BigInt(horizonText);
  const found: FoundRow[] = rows
    .filter(({ id }) => id !== null)
    .map((row) => ({ ...placeOf(row), transaction: horizon + BigInt(row.ahead!) }));
  return { rows: found, isFull: found.length === PAGE_SIZE, horizon, nowMilliseconds };
}

/** The 32 bits that the database keeps in a row. */
function toXid(horizon: bigint | null): string | null {
  return horizon === null ? null : String(horizon % 2n ** 32n);
}
