import type { EventKind, EventPayload } from '../../events/kinds.ts';

/** An event to record. */
export type NewEvent = {
  [K in EventKind]: {
    projectId: string;
    type: K;
    data: EventPayload<K>;
    test?: boolean;
    /** Sends the event only to this destination, regardless of its subscription. */
    only?: { webhookId: string } | { connectorId: string };
  };
}[EventKind];
