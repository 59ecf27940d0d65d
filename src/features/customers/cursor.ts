import { cursorOf, type Order, parseCursor, TIME, WHOLE_NUMBER } from '../../database/keyset.ts';
import type { Customer } from '../../generated/prisma/client.ts';
import { isId } from '../../ids.ts';

export type CustomerOrder = 'LAST_PAYMENT' | 'FIRST_PAYMENT' | 'TOTAL' | 'CREATED';

const timeOf = (time: Date | null) => String(time?.getTime() ?? 0);

/** The orders of customers. */
export const CUSTOMER_ORDERS: Readonly<Record<CustomerOrder, Order<Customer>>> = {
  LAST_PAYMENT: {
    name: 'last',
    column: 'lastPaymentAt',
    direction: 'desc',
    read: TIME,
    write: ({ lastPaymentAt }) => timeOf(lastPaymentAt),
  },
  FIRST_PAYMENT: {
    name: 'first',
    column: 'firstPaymentAt',
    direction: 'desc',
    read: TIME,
    write: ({ firstPaymentAt }) => timeOf(firstPaymentAt),
  },
  TOTAL: {
    name: 'total',
    column: 'totalAtomic',
    direction: 'desc',
    read: WHOLE_NUMBER,
    write: ({ totalAtomic }) => totalAtomic.toFixed(0),
  },
  // IDs sort by creation time.
  CREATED: {
    name: 'created',
    column: 'id',
    direction: 'desc',
    write: ({ id }) => id,
    read: (text) => (isId('Customer', text) ? text : undefined),
  },
};

/** A customer's position in a list in the given order. The cursor stays valid even if the customer moves. */
export function customerCursor(orderBy: CustomerOrder, customer: Customer): string {
  return cursorOf(CUSTOMER_ORDERS[orderBy], customer);
}

/** @returns undefined if it isn't a cursor from a list in the given order. */
export function parseCustomerCursor(orderBy: CustomerOrder, cursor: string) {
  return parseCursor(CUSTOMER_ORDERS[orderBy], 'Customer', cursor);
}
