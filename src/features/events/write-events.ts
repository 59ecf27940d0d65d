import { composeText } from '../../database/compose-statement.ts';
import { preparedStatement } from '../../database/statement.ts';
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

/** A single statement that writes events and their deliveries, because payments wait for it. */
export function writingEvents(events: readonly EventToWrite[]) {
  return WRITE(...eventValues(events));
}

/** The values of `EVENT_STEPS`. */
export type EventValues = ReturnType<typeof eventValues>;

/** The values for `EVENT_STEPS` in a statement that also writes the resources that the events are about. */
export function eventValues(events: readonly EventToWrite[]) {
  const deliveries = events.flatMap(({ id, event, deliveries }) =>
    deliveries.map((delivery) => ({ ...delivery, eventId: id, projectId: event.projectId, event })),
  );
  const ofEvents = <T>(read: (event: EventToWrite) => T) => events.map(read);
  const ofDeliveries = <T>(read: (delivery: (typeof deliveries)[number]) => T) => deliveries.map(read);
  return [
    ofEvents(({ id }) => id),
    ofEvents(({ event }) => event.projectId),
    ofEvents(({ event }) => event.type),
    ofEvents(({ version }) => version),
    ofEvents(({ event }) => event.test ?? false),
    ofEvents(({ traceContext }) => traceContext),
    ofEvents(({ event }) => JSON.stringify(event.data)),
    // PostgreSQL requires all arrays within an array to have the same length.
    ofEvents(({ filteredOut }) => (filteredOut.length > 0 ? filteredOut.join(' ') : null)),
    ofDeliveries(({ id }) => id),
    ofDeliveries(({ projectId }) => projectId),
    ofDeliveries(({ eventId }) => eventId),
    ofDeliveries(({ event }) => event.type),
    // An event for a single destination was requested explicitly, so it is sent even while the circuit is open.
    ofDeliveries(({ event }) => (event.only ? 'MANUAL' : 'SCHEDULED')),
    ofDeliveries(({ webhookId }) => webhookId),
    ofDeliveries(({ connectorId }) => connectorId),
    ofDeliveries(({ orderingKey }) => orderingKey),
    ofDeliveries(({ status }) => status),
    ofDeliveries(({ reason }) => reason),
    ofDeliveries(({ isDue }) => isDue),
    ofDeliveries(({ completedAt }) => completedAt),
  ] as const;
}

const WRITE_EVENTS = `
  INSERT INTO "Event" ("id", "projectId", "type", "version", "test", "traceContext", "data", "filteredOut")
  SELECT id, project, type, version, test, trace, data::json, string_to_array(filtered, ' ')
  FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::boolean[], $6::text[], $7::text[], $8::text[])
    AS new(id, project, type, version, test, trace, data, filtered)`;

const WRITE_DELIVERIES = `
  INSERT INTO "Delivery" (
    "id", "projectId", "eventId", "eventType", "trigger", "webhookId", "connectorId", "orderingKey", "status", "reason",
    "nextAttemptAt", "completedAt"
  )
  SELECT
    id, project, event, type, trigger::"AttemptTrigger", webhook, connector, ordering, status::"DeliveryStatus", reason,
    CASE WHEN due THEN statement_timestamp() END, completed
  FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::boolean[], $12::timestamptz[]
  ) AS new(id, project, event, type, trigger, webhook, connector, ordering, status, reason, due, completed)`;

/** The writes of events and their deliveries, as steps of a statement. */
export const EVENT_STEPS = { event: WRITE_EVENTS, delivery: WRITE_DELIVERIES };

const WRITE = preparedStatement('event-write', composeText(EVENT_STEPS, 'SELECT'));
