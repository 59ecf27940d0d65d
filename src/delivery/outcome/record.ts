import type pg from 'pg';
import { arrayLiteral } from '../../database/array-literal.ts';
import type { Queryable } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { newId } from '../../ids.ts';
import type { AttemptRecord } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';
import { releaseFollowers } from '../queue/ordering.ts';
import { IS_RUNNING } from '../queue/queue.ts';
import { countRejections, type PausedConnector, rejectionValues } from './rejections.ts';

/** Null for list items that aren't objects. */
const orNull = (json: string) => `CASE WHEN json_typeof(${json}) = 'object' THEN ${json} END`;

/**
 * Writes a batch in one statement, all or nothing. If a delivery's lease token has changed, the delivery and its
 * attempts are skipped, because another process has claimed it. A delivery that should be held for a pause is due
 * immediately if the pause is already over. Only the first attempt of a claim can be manual.
 */
const RECORD = preparedStatement(
  'delivery_record',
  `
  WITH result AS (
    SELECT * FROM unnest(
      $1::text[], $2::int[], $3::text[], $4::text[], $5::float8[], $6::int[], $7::int[], $8::int[], $9::int[], $10::text[],
      $11::boolean[]
    ) AS result(id, token, status, reason, due, step, made, code, ms, class, parked)
  ),
  updated AS (
    UPDATE "Delivery" d SET
      "status" = result.status::"DeliveryStatus",
      "reason" = result.reason,
      "trigger" = CASE WHEN result.status = 'PENDING' AND made > 0 THEN 'SCHEDULED' ELSE d."trigger" END,
      "attemptCount" = d."attemptCount" + made,
      "retryStep" = step,
      "nextAttemptAt" = CASE
        WHEN result.status <> 'PENDING' THEN NULL
        WHEN parked THEN d."nextAttemptAt"
        WHEN due IS NOT NULL THEN now() + make_interval(secs => due)
        WHEN result.reason <> 'paused' THEN NULL
        WHEN NOT EXISTS (SELECT FROM "Webhook" w WHERE w."id" = d."webhookId" AND w."pausedAt" IS NOT NULL)
          AND NOT EXISTS (SELECT FROM "Connector" c WHERE c."id" = d."connectorId" AND c."pausedAt" IS NOT NULL) THEN now()
      END,
      "isParked" = parked,
      "leasedUntil" = NULL,
      "statusCode" = CASE WHEN made > 0 THEN code ELSE d."statusCode" END,
      "responseTimeMs" = CASE WHEN made > 0 THEN ms ELSE d."responseTimeMs" END,
      "errorClass" = CASE WHEN made > 0 THEN class ELSE d."errorClass" END,
      "updatedAt" = now(),
      "completedAt" = CASE WHEN result.status <> 'PENDING' THEN now() END
    FROM result
    WHERE d."id" = result.id AND d."leaseToken" = token AND ${IS_RUNNING}
    RETURNING d."id"
  ),
  attempted AS (
    INSERT INTO "Attempt" (
      "id", "deliveryId", "number", "trigger", "startedAt", "durationMs", "statusCode", "errorClass", "errorMessage",
      "responseBody", "dnsMs", "connectMs", "tlsMs", "firstByteMs", "requestMethod", "requestUrl", "requestHeaders",
      "responseHeaders", "isContentOmitted"
    )
    SELECT
      attempt.id, delivery, number, attempt.trigger::"AttemptTrigger", to_timestamp(started / 1000), ms, code, class,
      message, body, dns, connect, tls, first_byte, method, url,
      ${orNull('sent')}, ${orNull('received')}, is_omitted
    FROM ROWS FROM (
      unnest(
        $12::text[], $13::text[], $14::int[], $15::text[], $16::float8[], $17::int[], $18::int[], $19::text[],
        $20::text[], $21::text[], $22::int[], $23::int[], $24::int[], $25::int[], $26::text[], $27::text[],
        $28::boolean[]
      ),
      json_array_elements($29::json),
      json_array_elements($30::json)
    ) AS attempt(
      id, delivery, number, trigger, started, ms, code, class, message, body, dns, connect, tls, first_byte, method, url,
      is_omitted, sent, received
    )
    JOIN updated ON updated."id" = delivery
    ON CONFLICT DO NOTHING
  ),
  ${countRejections(31)}
  SELECT "id", NULL AS "projectId", NULL AS "reason" FROM updated
  UNION ALL
  SELECT "id", "projectId", "pausedReason" FROM noted WHERE "pausedReason" IS NOT NULL`,
);

export type Recorded = {
  /** The IDs of the deliveries that were written. The leases of the rest were lost, so their results are discarded. */
  written: Set<string>;
  /** Connectors that are now paused, because their vendor rejected several deliveries in a row. */
  paused: PausedConnector[];
};

/**
 * Writes outcomes: each delivery's next status, its attempts, and the rejections counted for its connector. Deliveries
 * that were waiting for these become due in the same transaction.
 */
export async function recordOutcomes(
  pool: Pick<pg.Pool, 'query' | 'connect'>,
  outcomes: readonly DeliveryOutcome[],
): Promise<Recorded> {
  const keys = outcomes.flatMap(({ delivery: { destination, orderingKey } }) =>
    orderingKey === null ? [] : { webhookId: destination, key: orderingKey },
  );
  if (keys.length === 0) return write(pool, outcomes);
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const recorded = await write(client, outcomes);
    await releaseFollowers(client, keys);
    await client.query('COMMIT');
    client.release();
    return recorded;
  } catch (error) {
    // A connection in an unknown state isn't reused.
    client.release(true);
    throw error;
  }
}

type Value = string | number | null | undefined;

async function write(db: Queryable, outcomes: readonly DeliveryOutcome[]): Promise<Recorded> {
  const attempts = outcomes.flatMap(({ attempts }) => attempts);
  const places = outcomes.flatMap(({ delivery, attempts }) => attempts.map((_, index) => ({ delivery, index })));
  const ofEach = (pick: (outcome: DeliveryOutcome) => Value) => arrayLiteral(outcomes.map(pick));
  const ofAttempts = (pick: (attempt: AttemptRecord) => Value) => arrayLiteral(attempts.map(pick));
  const ofPlaces = (pick: (place: (typeof places)[number]) => Value) => arrayLiteral(places.map(pick));
  const lastOf = (outcome: DeliveryOutcome) => outcome.attempts.at(-1);
  const { rows } = await runStatement<{ id: string; projectId: string | null; reason: string | null }>(
    db,
    RECORD(
      ofEach(({ delivery }) => delivery.id),
      ofEach(({ delivery }) => delivery.leaseToken),
      ofEach(({ status }) => status),
      ofEach(({ reason }) => reason),
      ofEach(({ dueInSeconds }) => dueInSeconds),
      ofEach(({ retryStep }) => retryStep),
      ofEach(({ attempts }) => attempts.length),
      ofEach((outcome) => lastOf(outcome)?.statusCode),
      ofEach((outcome) => lastOf(outcome)?.durationMs),
      ofEach((outcome) => lastOf(outcome)?.errorClass),
      ofEach(({ isParked }) => String(isParked)),
      ofAttempts(() => newId('Attempt')),
      ofPlaces(({ delivery }) => delivery.id),
      ofPlaces(({ delivery, index }) => delivery.attemptCount + index + 1),
      ofPlaces(({ delivery, index }) => (index === 0 ? delivery.trigger : 'SCHEDULED')),
      ofAttempts(({ startedAt }) => startedAt),
      ofAttempts(({ durationMs }) => durationMs),
      ofAttempts(({ statusCode }) => statusCode),
      ofAttempts(({ errorClass }) => errorClass),
      ofAttempts(({ errorMessage }) => errorMessage),
      ofAttempts(({ responseBody }) => responseBody),
      ofAttempts(({ exchange }) => exchange?.phases.dnsMs),
      ofAttempts(({ exchange }) => exchange?.phases.connectMs),
      ofAttempts(({ exchange }) => exchange?.phases.tlsMs),
      ofAttempts(({ exchange }) => exchange?.phases.firstByteMs),
      ofAttempts(({ exchange }) => exchange?.request?.method),
      ofAttempts(({ exchange }) => exchange?.request?.url),
      ofAttempts(({ isContentOmitted = false }) => String(isContentOmitted)),
      JSON.stringify(attempts.map(({ exchange }) => exchange?.request?.headers ?? null)),
      JSON.stringify(attempts.map(({ exchange }) => exchange?.responseHeaders ?? null)),
      ...rejectionValues(outcomes),
    ),
  );
  return {
    written: new Set(rows.flatMap(({ id, projectId }) => (projectId === null ? id : []))),
    paused: rows.flatMap(({ id, projectId, reason }) => (projectId === null ? [] : { id, projectId, reason: reason! })),
  };
}
