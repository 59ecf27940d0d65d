import type { Customer } from '../../generated/prisma/client.ts';
import { isId } from '../../ids.ts';

export type CustomerOrder = 'LAST_PAYMENT' | 'TOTAL';

const PATTERN = /^(total|last)\.(\d{1,38})\.([0-9a-z_]{1,40})$/;
const NAMES: Record<CustomerOrder, string> = { TOTAL: 'total', LAST_PAYMENT: 'last' };

/** A customer's position in a list in the given order. The cursor stays valid even if the customer moves. */
export function customerCursor(orderBy: CustomerOrder, { id, totalAtomic, lastPaymentAt }: Customer): string {
  const value = orderBy === 'TOTAL' ? totalAtomic.toFixed(0) : (lastPaymentAt?.getTime() ?? 0);
  return `${NAMES[orderBy]}.${value}.${id}`;
}

/** @returns undefined if it isn't a cursor from a list in the given order. */
export function parseCustomerCursor(orderBy: CustomerOrder, cursor: string) {
  const [, name, value, id] = PATTERN.exec(cursor) ?? [];
  if (name !== NAMES[orderBy] || !value || !id || !isId('Customer', id)) return undefined;
  if (orderBy === 'LAST_PAYMENT' && Number(value) > 8.64e15) return undefined;
  return { value, id };
}
