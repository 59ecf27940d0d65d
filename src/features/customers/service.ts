import { getAddress, isAddress } from 'viem';
import { inProject, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import { invalidField } from '../../errors.ts';
import type { Customer, Prisma } from '../../generated/prisma/client.ts';
import { type CustomerOrder, parseCustomerCursor } from './cursor.ts';

export type CustomerService = ReturnType<typeof createCustomerService>;

type Relations = Omit<Prisma.CustomerFindManyArgs, 'where' | 'orderBy' | 'take'>;

const COLUMNS = { LAST_PAYMENT: 'lastPaymentAt', TOTAL: 'totalAtomic' } as const;

/** Wallets that have paid a project. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`. */
export function createCustomerService({ db }: { db: Database }) {
  return {
    /**
     * Customers with a settled payment, sorted by most recent payment or by highest total.
     *
     * @param slice the cursors to start after and to end before; a negative `take` counts from the end.
     */
    async list(
      viewer: Viewer,
      projectId: string,
      query: { orderBy: CustomerOrder; walletAddress?: string | null },
      { after, before, take, relations }: { after?: string; before?: string; take: number; relations?: Relations },
    ): Promise<Customer[]> {
      const { orderBy, walletAddress } = query;
      if (walletAddress && !isAddress(walletAddress, { strict: false })) {
        throw invalidField('/walletAddress', 'Must be an EVM address: 0x and 40 hex digits.');
      }
      return db.prisma.customer.findMany({
        ...relations,
        where: {
          ...(await inProject(db.prisma, viewer, projectId)),
          paymentCount: { gt: 0 },
          ...(walletAddress && { walletAddress: getAddress(walletAddress.toLowerCase()) }),
          AND: [after ? beyond(orderBy, after, 'lt') : {}, before ? beyond(orderBy, before, 'gt') : {}],
        },
        orderBy: [{ [COLUMNS[orderBy]]: 'desc' }, { id: 'desc' }],
        take,
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.CustomerFindFirstArgs = {},
    ): Promise<Customer | null> {
      return db.prisma.customer.findFirst({ ...query, where: visibleItem(viewer, 'Customer', id, projectId) });
    },
  };
}

/** Items beyond a cursor. The first condition lets the database use an index. */
function beyond(orderBy: CustomerOrder, cursor: string, side: 'lt' | 'gt'): Prisma.CustomerWhereInput {
  const { value, id } = parseCustomerCursor(orderBy, cursor)!;
  const column = COLUMNS[orderBy];
  const at = orderBy === 'TOTAL' ? value : new Date(Number(value));
  return { [column]: { [`${side}e`]: at }, OR: [{ [column]: { [side]: at } }, { id: { [side]: id } }] };
}
