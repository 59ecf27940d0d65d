import { formatEventType } from './format.ts';

/** The form values that webhooks and connectors share. No event types means all of them. The filter is JSON text. */
export type DestinationValues = { eventTypes: string[]; filter: string; maxPerSecond: number | '' };

type Stored = { eventTypes: readonly string[]; filter?: unknown; maxPerSecond?: number | null | undefined };

export function destinationValues(stored: Stored | undefined): DestinationValues {
  return {
    eventTypes: stored?.eventTypes.filter((name) => name !== 'ALL') ?? [],
    filter: stored?.filter ? JSON.stringify(stored.filter, null, 2) : '',
    maxPerSecond: stored?.maxPerSecond ?? '',
  };
}

/** Only checks that a filter is JSON. The service checks its contents. */
export function checkFilter(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch {
    return 'Invalid JSON. Example: {"data.amountUsd": {"gte": "1.00"}}';
  }
}

/** The form values as the API expects them. */
export function destinationInput<Type extends string>({ eventTypes, filter, maxPerSecond }: DestinationValues) {
  return {
    eventTypes: (eventTypes.length > 0 ? eventTypes : ['ALL']) as Type[],
    filter: filter.trim() === '' ? null : (JSON.parse(filter) as unknown),
    maxPerSecond: maxPerSecond === '' ? null : maxPerSecond,
  };
}

/** A short summary of event types. */
export function describeEvents(eventTypes: readonly string[]): string {
  if (eventTypes.includes('ALL')) return 'All';
  const [first = '', ...rest] = eventTypes.map(formatEventType);
  return rest.length > 0 ? `${first} and ${rest.length} more` : first;
}
