import type { SearchQuery } from '../../generated/console/search.ts';

export type FoundItem = NonNullable<SearchQuery['search']>[number];

/** The console page of an item, relative to its project. */
const PAGES: Readonly<Record<FoundItem['type'], (item: FoundItem) => string>> = {
  PROJECT: () => '',
  PAYMENT: ({ id }) => `/payments/${id}`,
  CUSTOMER: ({ label }) => `/payments?payer=${label}`,
  ENDPOINT: ({ id }) => `/endpoints/${id}`,
  WEBHOOK: ({ id }) => `/webhooks/${id}`,
  CONNECTOR: ({ id }) => `/connectors/${id}`,
  DELIVERY: ({ id }) => `/deliveries/${id}`,
  EVENT: ({ id }) => `/events/${id}`,
  API_KEY: () => '/keys',
  REPLAY: () => '/replays',
  NOTICE: () => '/notices',
  AUDIT_ENTRY: () => '/audit-log',
};

/** The address of an item's page. */
export function pageOf(item: FoundItem): string {
  return `/projects/${item.projectId}${PAGES[item.type](item)}`;
}

/** Items of the current project come first. */
export function currentFirst(items: readonly FoundItem[], projectId: string | undefined): FoundItem[] {
  const isElsewhere = (item: FoundItem) => Number(item.projectId !== projectId);
  return items.toSorted((a, b) => isElsewhere(a) - isElsewhere(b));
}
