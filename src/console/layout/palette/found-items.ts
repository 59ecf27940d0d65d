import type { SearchQuery } from '../../../generated/console/search.ts';
import { filtersAround } from '../../parts/id-time.ts';

export type FoundItem = NonNullable<SearchQuery['search']>[number];
export type FoundType = FoundItem['type'];

/** The name of each type, and the console page of an item, relative to its project. */
const TYPES: Readonly<Record<FoundType, { name: string; page(item: FoundItem): string }>> = {
  PROJECT: { name: 'Project', page: () => '' },
  PAYMENT: { name: 'Payment', page: ({ id }) => `/payments/${id}` },
  CUSTOMER: { name: 'Customer', page: ({ label }) => `/payments?payer=${label}` },
  ENDPOINT: { name: 'Endpoint', page: ({ id }) => `/endpoints/${id}` },
  WEBHOOK: { name: 'Webhook', page: ({ id }) => `/webhooks/${id}` },
  CONNECTOR: { name: 'Connector', page: ({ id }) => `/connectors/${id}` },
  DELIVERY: { name: 'Delivery', page: ({ id }) => `/deliveries/${id}` },
  EVENT: { name: 'Event', page: ({ id }) => `/events/${id}` },
  API_KEY: { name: 'API key', page: ({ id }) => `/keys?${filtersAround(id)}` },
  REPLAY: { name: 'Replay', page: ({ id }) => `/replays?${filtersAround(id)}` },
  NOTICE: { name: 'Notice', page: ({ id }) => `/notices?${filtersAround(id)}` },
  AUDIT_ENTRY: { name: 'Audit entry', page: ({ id }) => `/audit-log?${filtersAround(id)}` },
};

/** The name of a type: `API key`. */
export function nameOf(type: FoundType): string {
  return TYPES[type].name;
}

/** The address of an item's page. */
export function pageOf(item: FoundItem): string {
  return `/projects/${item.projectId}${TYPES[item.type].page(item)}`;
}

/** Items of the current project come first. */
export function currentFirst(items: readonly FoundItem[], projectId: string | undefined): FoundItem[] {
  const isElsewhere = (item: FoundItem) => Number(item.projectId !== projectId);
  return items.toSorted((a, b) => isElsewhere(a) - isElsewhere(b));
}
