import type { EventKind, EventPayload } from '../../events/kinds.ts';

/** An event to record. */
export type NewEvent = {
  [K in EventKind]: {
    projectId: string;
    type: K;
    data: EventPayload<K>;
    test?: boolean;
    /** Sends it to this destination only, no matter what it subscribes to. */
    only?: { webhookId: string } | { connectorId: string };
  };
}[EventKind];
