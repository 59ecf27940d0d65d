import type { Transaction } from '../../database/client.ts';
import type { NewDelivery } from './find-destinations.ts';
import type { NewEvent } from './new-event.ts';

export type EventToWrite = {
  id: string;
  /** The payload's version. */
  version: number;
  traceContext: string | null;
  event: NewEvent;
  deliveries: readonly (NewDelivery & { id: string })[];
  /** The destinations whose filters exclude the event. */
  filteredOut: readonly string[];
};

/** Writes an event and its deliveries in one statement, because every payment waits for it. */
export async function writeEvent(tx: Transaction, { id, version, traceContext, ...rest }: EventToWrite): Promise<void> {
  const { event, deliveries, filteredOut } = rest;
  const { projectId, type, data, test = false, only } = event;
  // Someone requested an event that is meant for only one destination, so it is sent even while the circuit is open.
  const trigger = only ? 'MANUAL' : 'SCHEDULED';
  await tx.$executeRaw`
    WITH event AS (
      INSERT INTO "Event" ("id", "projectId", "type", "version", "test", "traceContext", "filteredOut", "data")
      VALUES (
        ${id}, ${projectId}, ${type}, ${version}, ${test}, ${traceContext},
        ${filteredOut.length > 0 ? filteredOut : null}::text[], ${JSON.stringify(data)}::json
      )
    )
    INSERT INTO "Delivery" (
      "id", "projectId", "eventId", "eventType", "trigger", "webhookId", "connectorId", "orderingKey", "status", "reason",
      "nextAttemptAt", "completedAt"
    )
    SELECT
      new.id, ${projectId}, ${id}, ${type}, ${trigger}::"AttemptTrigger", webhook, connector, ordering,
      status::"DeliveryStatus", reason, CASE WHEN due THEN statement_timestamp() END, completed
    FROM unnest(
      ${deliveries.map((delivery) => delivery.id)}::text[],
      ${deliveries.map(({ webhookId }) => webhookId)}::text[],
      ${deliveries.map(({ connectorId }) => connectorId)}::text[],
      ${deliveries.map(({ orderingKey }) => orderingKey)}::text[],
      ${deliveries.map(({ status }) => status)}::text[],
      ${deliveries.map(({ reason }) => reason)}::text[],
      ${deliveries.map(({ isDue }) => isDue)}::boolean[],
      ${deliveries.map(({ completedAt }) => completedAt)}::timestamptz[]
    ) AS new(id, webhook, connector, ordering, status, reason, due, completed)`;
}
