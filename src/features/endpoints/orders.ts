import { cursorsIn, type Order, WHOLE_NUMBER } from '../../database/keyset.ts';
import type { Endpoint } from '../../generated/prisma/client.ts';

export type EndpointOrder = 'NEWEST' | 'PATH' | 'PRICE';

/** The sort orders for endpoints, other than `NEWEST`. */
export const ENDPOINT_ORDERS: Readonly<Record<Exclude<EndpointOrder, 'NEWEST'>, Order<Endpoint>>> = {
  PATH: {
    name: 'path',
    column: 'path',
    direction: 'asc',
    write: ({ path }) => Buffer.from(path).toString('base64url'),
    read: textOf,
  },
  PRICE: {
    name: 'price',
    column: 'priceAtomic',
    direction: 'desc',
    read: WHOLE_NUMBER,
    write: ({ priceAtomic }) => priceAtomic.toFixed(0),
  },
};

/** Text that the database can compare. It can't contain NUL characters or invalid UTF-8. */
function textOf(encoded: string): string | undefined {
  const text = Buffer.from(encoded, 'base64url').toString();
  return text.includes('\0') || text.includes('\ufffd') ? undefined : text;
}

/** The cursors for endpoints in this order. */
export const endpointCursors = (order: Order<Endpoint>) => cursorsIn(order, 'Endpoint');
