import type { ConnectorEvent, EndpointHistory, HistoryQuestion } from '../../connectors/definition.ts';
import { UPSTREAM_FAULTS } from '../../connectors/shared/alert.ts';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { firstIdAt } from '../../ids.ts';

const MAX_FAULTS = 1_000;

// IDs start with the time, so this reads only the partition and the part of the index around the event.
const HISTORY = statement(
  'endpoint-history',
  `
  SELECT
    ARRAY(
      SELECT "timestamp" FROM "Event"
      WHERE "projectId" = $1 AND "type" = 'payment.failed' AND "id" >= $2 AND "id" < $3 AND NOT "test"
        AND "data"->>'endpointId' = $4 AND "data"->>'stage' = 'upstream'
        AND ("data"->>'reason' = ANY($5) OR ("data"->>'upstreamStatusCode')::int >= 500)
      ORDER BY "id" DESC LIMIT ${MAX_FAULTS}
    ) AS "faults",
    (
      SELECT "timestamp" FROM "Event"
      WHERE "projectId" = $1 AND "type" = 'payment.settled' AND "id" >= $6 AND "timestamp" >= $7 AND NOT "test"
        AND "data"->>'endpointId' = $4
      ORDER BY "id" DESC LIMIT 1
    ) AS "settledAt"`,
);

export type ReadHistory = (event: ConnectorEvent, question: HistoryQuestion) => Promise<EndpointHistory>;

/**
 * Creates the function that reads the results of an endpoint's other payments around the time of an event. Events
 * that this process can't see yet will be delivered later by a process that finds this event in the connector's memory.
 */
export function createEndpointHistory(db: Queryable): ReadHistory {
  return async ({ projectId, timestamp }, { endpointId, minutes }) => {
    const at = Date.parse(timestamp);
    const [from, until] = [at - minutes * 60_000, at + minutes * 60_000];
    const { rows } = await runStatement<{ faults: Date[]; settledAt: Date | null }>(
      db,
      HISTORY(
        projectId,
        firstIdAt('Event', from),
        firstIdAt('Event', until),
        endpointId,
        UPSTREAM_FAULTS,
        firstIdAt('Event', at),
        timestamp,
      ),
    );
    const { faults, settledAt } = rows[0]!;
    return { upstreamFaults: faults.map((fault) => fault.toISOString()), settledAt: settledAt?.toISOString() ?? null };
  };
}
