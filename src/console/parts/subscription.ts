import { formatEventType } from './format.ts';

/** What a form knows of a subscription: kinds, of which none means all, a filter as text, and a rate, if there is one. */
export type SubscriptionValues = { eventTypes: string[]; filter: string; maxPerSecond: number | '' };

type Stored = { eventTypes: readonly string[]; filter?: unknown; maxPerSecond?: number | null | undefined };

export function subscriptionValues(stored: Stored | undefined): SubscriptionValues {
  return {
    eventTypes: stored?.eventTypes.filter((name) => name !== 'ALL') ?? [],
    filter: stored?.filter ? JSON.stringify(stored.filter, null, 2) : '',
    maxPerSecond: stored?.maxPerSecond ?? '',
  };
}

/** What is wrong with the text of a filter; the service checks what it says. */
export function checkFilter(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch {
    return 'Is not JSON. An example: {"data.amountUsd": {"gte": "1.00"}}';
  }
}

/** The same for the API. */
export function subscriptionInput<Kind extends string>({ eventTypes, filter, maxPerSecond }: SubscriptionValues) {
  return {
    eventTypes: (eventTypes.length > 0 ? eventTypes : ['ALL']) as Kind[],
    filter: filter.trim() === '' ? null : (JSON.parse(filter) as unknown),
    maxPerSecond: maxPerSecond === '' ? null : maxPerSecond,
  };
}

/** Kinds in few words. */
export function describeEvents(eventTypes: readonly string[]): string {
  if (eventTypes.includes('ALL')) return 'All';
  const [first = '', ...rest] = eventTypes.map(formatEventType);
  return rest.length > 0 ? `${first} and ${rest.length} more` : first;
}
