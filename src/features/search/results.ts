import type { IdType } from '../../ids.ts';

/** The types of items that a search can find, in result order. */
export const SEARCHED_TYPES = [
  ...(['Project', 'Payment', 'Customer', 'Endpoint', 'Webhook', 'Connector'] as const),
  ...(['Delivery', 'Event', 'ApiKey', 'Replay', 'Notice', 'AuditEntry'] as const),
] satisfies IdType[];

export type SearchedType = (typeof SEARCHED_TYPES)[number];

export type SearchResult = {
  type: SearchedType;
  id: string;
  projectId: string;
  /** A short name for the item: a path, a host, a wallet. */
  label: string;
  /** The item's status, if it has one. */
  status: string | null;
};
