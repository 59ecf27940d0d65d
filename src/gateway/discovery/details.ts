import type { Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import type { InputSchema } from '../../features/endpoints/discovery.ts';
import type { PaidRoute } from '../routing/load-routes.ts';

/** An endpoint's schemas and example, which can be large. */
export type Details = { inputSchema: InputSchema | null; exampleResponse: unknown };

export type DetailsOf = ReturnType<typeof createDetails>;

const NONE: Details = { inputSchema: null, exampleResponse: null };
/** The limit for all projects combined, as JSON. Objects take up to 22 times as much memory as their JSON. */
const MAX_BYTES = 8_388_608;
/** An endpoint counts as at least this many bytes, even if its details are smaller. */
const MIN_BYTES = 1_024;

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
 *
 * @returns a function that returns a promise only if it has to read them
 */
export function createDetails(db: Queryable): (route: PaidRoute) => Details | Promise<Details> {
  const known = new Map<string, Entry>();
  let bytes = 0;

  async function read(endpointId: string): Promise<{ details: Details; bytes: number }> {
    const { rows } = await runStatement<Details & { bytes: number }>(db, READ_DETAILS(endpointId));
    const { bytes: size, ...details } = rows[0] ?? { ...NONE, bytes: 0 };
    return { details, bytes: Math.max(MIN_BYTES, size) };
  }

  function forget(endpointId: string): void {
    bytes -= known.get(endpointId)?.bytes ?? 0;
    known.delete(endpointId);
  }

  function load(endpointId: string, version: string): Promise<Details> {
    forget(endpointId);
    const reading = read(endpointId);
    const loading = reading.then(({ details }) => details);
    const entry: Entry = { version, details: loading, bytes: 0 };
    known.set(endpointId, entry);
    const isKnown = () => known.get(endpointId) === entry;
    reading.then(
      (loaded) => {
        entry.details = loaded.details;
        if (!isKnown()) return;
        entry.bytes = loaded.bytes;
        bytes += loaded.bytes;
        while (bytes > MAX_BYTES) forget(known.keys().next().value!);
      },
      () => isKnown() && forget(endpointId),
    );
    return loading;
  }

  return ({ endpointId, offer: { detailsVersion: version } }) => {
    if (version === null) return NONE;
    const entry = known.get(endpointId);
    return entry?.version === version ? entry.details : load(endpointId, version);
  };
}
