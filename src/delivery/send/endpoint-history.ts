import type { ConnectorEvent, EndpointHistory, HistoryQuestion } from '../../connectors/definition.ts';
import { UPSTREAM_FAULTS } from '../../connectors/shared/alert.ts';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { firstIdAt } from '../../ids.ts';
import { createFairQueue } from '../../limits/fair-queue.ts';

const MAX_FAULTS = 1_000;
/**
 * How many of the project's events are read: failures before the event, failures after it, and settlements. There is no
 * index on the endpoint, because every payment would have to update it, and the claims and results of all accounts need
 * the same few connections.
 */
const MAX_READ = 5_000;
/** The rest of the connections stay free for claims and results. */
const MOST_AT_ONCE = 1;

const failures = (range: string, order: string) =>
  `(SELECT "id", "timestamp", "data", "test" FROM "Event"
        WHERE "projectId" = $1 AND "type" = 'payment.failed' AND ${range} ORDER BY "id" ${order} LIMIT ${MAX_READ})`;

// IDs start with the time, so this reads only the partition and the part of the index around the event.
const HISTORY = statement(
  'endpoint-history',
  `
  SELECT
    ARRAY(
      SELECT "timestamp" FROM (
        ${failures('"id" >= $2 AND "id" < $6', 'DESC')}
        UNION ALL
        ${failures('"id" >= $6 AND "id" < $3', 'ASC')}
      ) AS nearest
      WHERE NOT "test" AND "data"->>'endpointId' = $4 AND "data"->>'stage' = 'upstream'
        AND ("data"->>'reason' = ANY($5) OR ("data"->>'upstreamStatusCode')::int >= 500)
      ORDER BY "id" DESC LIMIT ${MAX_FAULTS}
    ) AS "faults",
    (
      SELECT "timestamp" FROM (
        SELECT "id", "timestamp", "data", "test" FROM "Event"
        WHERE "projectId" = $1 AND "type" = 'payment.settled' AND "id" >= $6 AND "timestamp" >= $7
        ORDER BY "id" DESC LIMIT ${MAX_READ}
      ) AS newest
      WHERE NOT "test" AND "data"->>'endpointId' = $4
      ORDER BY "id" DESC LIMIT 1
    ) AS "settledAt"`,
);

export type ReadHistory = (
  event: ConnectorEvent,
  question: HistoryQuestion,
  accountId: string,
) => Promise<EndpointHistory>;

/**
 * Creates the function that reads the results of an endpoint's other payments around the time of an event. Events
 * that this process can't see yet will be delivered later by a process that finds this event in the connector's memory.
 * Accounts take turns. In a project with thousands of payments around that time, only those closest to the event count.
 */
export function createEndpointHistory(db: Queryable): ReadHistory {
  const turns = createFairQueue({ perAccount: 1, perProcess: MOST_AT_ONCE });

  return async ({ projectId, timestamp }, { endpointId, minutes }, accountId) => {
    const at = Date.parse(timestamp);
    const [from, until] = [at - minutes * 60_000, at + minutes * 60_000];
    const history = HISTORY(
      projectId,
      firstIdAt('Event', from),
      firstIdAt('Event', until),
      endpointId,
      UPSTREAM_FAULTS,
      firstIdAt('Event', at),
      timestamp,
    );
    const { rows } = await turns.run(accountId, () =>
      runStatement<{ faults: Date[]; settledAt: Date | null }>(db, history),
    );
    const { faults, settledAt } = rows[0]!;
    return { upstreamFaults: faults.map((fault) => fault.toISOString()), settledAt: settledAt?.toISOString() ?? null };
  };
}
