import { formatEventType } from './format.ts';

/** The form values that webhooks and connectors share. No event types means all of them. The filter is JSON text. */
export type DestinationValues = { name: string; eventTypes: string[]; filter: string; maxPerSecond: number | '' };

type Stored = {
  name?: string | null | undefined;
  eventTypes: readonly string[];
  filter?: unknown;
  maxPerSecond?: number | null | undefined;
};

export function destinationValues(stored: Stored | undefined): DestinationValues {
  return {
    name: stored?.name ?? '',
    eventTypes: stored?.eventTypes.filter((name) => name !== 'ALL') ?? [],
    filter: stored?.filter ? JSON.stringify(stored.filter, null, 2) : '',
    maxPerSecond: stored?.maxPerSecond ?? '',
  };
}

export const EXAMPLE_FILTER = '{"data.amountUsd": {"gte": "1.00"}}';

/** Checks only that a filter is JSON, and that each condition has a value. The service checks its contents. */
export function checkFilter(text: string): string | null {
  if (text.trim() === '') return null;
  const filter = parseFilter(text);
  if (filter === undefined) return `Invalid JSON. Example: ${EXAMPLE_FILTER}`;
  return hasNull(filter) ? 'Enter a value for every condition.' : null;
}

/** Undefined for text that isn't JSON. */
export function parseFilter(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A filter contains null only where the form has a row without a value. */
function hasNull(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.values(value).some(hasNull));
}

/** The form values as the API expects them. */
export function destinationInput<Type extends string>({ name, eventTypes, filter, maxPerSecond }: DestinationValues) {
  return {
    name: name.trim() || null,
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
