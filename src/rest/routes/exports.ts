import type { IdType } from '../../ids.ts';
import { exportDocument } from '../export/document.ts';
import { auditRoutes } from './audit.ts';
import { customerRoutes } from './customers.ts';
import { deliveryRoutes } from './deliveries.ts';
import { eventRoutes } from './events.ts';
import { paymentRoutes } from './payments.ts';
import { revenueRoutes } from './revenue.ts';
import type { RestRoute } from './route.ts';

type Export = {
  /** The operation whose rows are exported. */
  of: string;
  operationId: string;
  summary: string;
  /** The type of the rows, if the operation returns a list. */
  type?: IdType;
  /** The list's cursor for a row, if it isn't the row's ID. */
  cursorOf?: (id: string) => string;
  /** Where the rows are, if the operation doesn't return a list. */
  rowsIn?: string;
  fixed?: RestRoute['fixed'];
};

const EXPORTS: readonly Export[] = [
  {
    of: 'listPayments',
    type: 'Payment',
    operationId: 'exportPayments',
    summary: 'Export payments as CSV or JSON Lines',
  },
  {
    of: 'listCustomers',
    type: 'Customer',
    operationId: 'exportCustomers',
    summary: 'Export customers as CSV or JSON Lines',
    // In this order, customers keep their place even if they pay during the export.
    fixed: { orderBy: 'CREATED' },
    // The cursor of a list in this order: see src/database/keyset.ts.
    cursorOf: (id) => `created.${id}.${id}`,
  },
  {
    of: 'getRevenue',
    operationId: 'exportRevenue',
    summary: 'Export revenue by hour, day, or month as CSV or JSON Lines',
    rowsIn: 'buckets',
  },
  {
    of: 'listDeliveries',
    type: 'Delivery',
    operationId: 'exportDeliveries',
    summary: 'Export deliveries as CSV or JSON Lines',
  },
  { of: 'listEvents', type: 'Event', operationId: 'exportEvents', summary: 'Export events as CSV or JSON Lines' },
  {
    of: 'listProjectAuditLog',
    type: 'AuditEntry',
    operationId: 'exportProjectAuditLog',
    summary: 'Export a project’s audit log as CSV or JSON Lines',
  },
];

const EXPORTED = [
  ...paymentRoutes,
  ...customerRoutes,
  ...revenueRoutes,
  ...deliveryRoutes,
  ...eventRoutes,
  ...auditRoutes,
];

/** The lists' query parameters that aren't filters. An export's order is fixed. */
const NOT_FILTERS = new Set(['orderBy', 'expand']);

/** Exports: all items in a list, with the list's filters. Each route is derived from the list's row in the table. */
export const exportRoutes: readonly RestRoute[] = EXPORTS.map((exported) => {
  const { of, operationId, summary, type, cursorOf = (id: string) => id, rowsIn, fixed } = exported;
  const list = EXPORTED.find((route) => route.operationId === of);
  if (!list) throw new Error(`There is no route ${of}`);
  const isPaged = rowsIn === undefined;
  const at = rowsIn ? [...list.at, rowsIn] : list.at;
  const filters = Object.entries(list.query ?? {}).filter(([name]) => !NOT_FILTERS.has(name));
  return {
    method: 'GET',
    kind: 'export',
    operationId,
    summary,
    at,
    path: `${list.path}/export`,
    document: exportDocument(list.document, at, isPaged),
    isPaged,
    ...(type && { resume: { type, cursorOf } }),
    query: Object.fromEntries(filters),
    ...(fixed && { fixed }),
  };
});
