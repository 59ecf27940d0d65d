import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import type { InputSchema } from '../../features/endpoints/discovery.ts';
import type { PaidRoute } from '../routing/load-routes.ts';

/** An endpoint's schemas and example, which can be large. */
export type Details = { inputSchema: InputSchema | null; exampleResponse: unknown };

export type DetailsStore = ReturnType<typeof createDetails>;

const NONE: Details = { inputSchema: null, exampleResponse: null };
/** The limit for all projects combined, as JSON. Objects take up to 32 times as much memory as their JSON. */
const MAX_BYTES = 4_194_304;
/** An endpoint counts as at least this many bytes, even if its details are smaller. */
const MIN_BYTES = 1_024;
/** This many bytes of declarations count as one, because they take only a few times as much memory as their JSON. */
const DECLARED_BYTES = 8;

type Entry = { version: string; details: Details | Promise<Details>; bytes: number };

const READ_DETAILS = preparedStatement(
  'gateway-details',
  `SELECT "inputSchema", "exampleResponse",
        coalesce(octet_length("inputSchema"::text), 0)
        + coalesce(octet_length("exampleResponse"::text), 0) AS bytes
   FROM "Endpoint" WHERE id = $1`,
);

/**
 * Keeps schemas and examples in memory, separately from the routes, which are all read again after a change to one of
 * them. They are read when an endpoint is first requested and after it has changed.
 */
export function createDetails(db: Queryable): {
  /** Returns a promise only if it has to read them. */
  of(route: PaidRoute): Details | Promise<Details>;
  /** Counts bytes of declarations, which stay in memory as long as the details that they were made from. */
  countDeclared(route: PaidRoute, details: Details, bytes: number): void;
} {
  const known = new LRUCache<string, Entry>({ maxSize: MAX_BYTES });

  async function read(endpointId: string): Promise<{ details: Details; bytes: number }> {
    const { rows } = await runStatement<Details & { bytes: number }>(db, READ_DETAILS(endpointId));
    const { bytes: size, ...details } = rows[0] ?? { ...NONE, bytes: 0 };
    return { details, bytes: Math.max(MIN_BYTES, size) };
  }

  function load(endpointId: string, version: string): Promise<Details> {
    const reading = read(endpointId);
    const loading = reading.then(({ details }) => details);
    const entry: Entry = { version, details: loading, bytes: MIN_BYTES };
    known.set(endpointId, entry, { size: MIN_BYTES });
    const isKnown = () => known.peek(endpointId) === entry;
    reading.then(
      ({ details, bytes }) => isKnown() && known.set(endpointId, { version, details, bytes }, { size: bytes }),
      () => isKnown() && known.delete(endpointId),
    );
    return loading;
  }

  return {
    of({ endpointId, offer: { detailsVersion: version } }) {
      if (version === null) return NONE;
      const entry = known.get(endpointId);
      return entry?.version === version ? entry.details : load(endpointId, version);
    },
    countDeclared({ endpointId }, details, declaredBytes) {
      const entry = known.peek(endpointId);
      if (entry?.details !== details) return;
      const bytes = entry.bytes + Math.ceil(declaredBytes / DECLARED_BYTES);
      known.set(endpointId, { ...entry, bytes }, { size: bytes });
    },
  };
}
