import type { ConnectorEvent } from '../../../src/connectors/definition.ts';
import type { EventType } from '../../../src/events/types.ts';
import { sampleEvent } from './samples.ts';

/** A type's sample event, with all text replaced except amounts. */
export function hostileEvent(eventType: EventType, text: string): ConnectorEvent {
  const event = sampleEvent(eventType);
  const data = Object.fromEntries(
    Object.entries(event.data).map(([key, value]) => [
      key,
      typeof value === 'string' && !/Usd$|Atomic$/.test(key) ? text : value,
    ]),
  );
  return { ...event, data } as ConnectorEvent;
}
