import type { EventPayload, EventType } from '../../events/types.ts';

/** An event to record. */
export type NewEvent = {
  [K in EventType]: {
    projectId: string;
    type: K;
    data: EventPayload<K>;
    test?: boolean;
    /** Sends the event only to this destination, regardless of its subscription. */
    only?: { webhookId: string } | { connectorId: string };
  };
}[EventType];
