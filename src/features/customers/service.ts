import { getAddress } from 'viem';
import { z } from 'zod';
import { inProject, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { COUNT_AT_MOST, exactCount } from '../../database/count-limit.ts';
import { type Period, timeIn } from '../../database/created-between.ts';
import { beyond, inOrder } from '../../database/keyset.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { Customer, Prisma } from '../../generated/prisma/client.ts';
import { parseUsd, USD_PATTERN } from '../../money.ts';
import { parseInput } from '../../validation.ts';
import { CUSTOMER_ORDERS, type CustomerOrder } from './cursor.ts';

export type CustomerFilter = Period & {
  walletAddress?: string | null;
  /** The minimum settled total, such as `100`. */
  minTotalUsd?: string | null;
};
export type CustomerTotals = { customerCount: number; paymentCount: number; totalAtomic: bigint };
/** Checks the text in a filter. An empty address counts as unset. */
export const customerFilterInput = z.object({
  walletAddress: z
    .string()
    .regex(/^(?:0x[0-9a-fA-F]{40})?$/, 'Must be an EVM address: 0x and 40 hex digits.')
    .nullish(),
  minTotalUsd: z.string().regex(USD_PATTERN, 'Must be an amount in USD, such as "0.01".').nullish(),
});

export type CustomerService = ReturnType<typeof createCustomerService>;

type Relations = Omit<Prisma.CustomerFindManyArgs, 'where' | 'orderBy' | 'take'>;

/** Wallets that have paid a project. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`. */
export function createCustomerService({ db }: { db: TenantDatabase }) {
  return {
    /**
     * Customers with a settled payment, by last payment, first payment, total spend, or creation time, in descending order.
     *
     * @param slice the cursors to start after and to end before; a negative `take` counts from the end.
     */
    async list(
      viewer: Viewer,
      projectId: string,
      query: { orderBy: CustomerOrder; filter: CustomerFilter },
      { after, before, take, relations }: { after?: string; before?: string; take: number; relations?: Relations },
    ): Promise<Customer[]> {
      const { orderBy } = query;
      return db.prisma.customer.findMany({
        ...relations,
        where: {
          ...(await inProject(db.prisma, viewer, projectId)),
          paymentCount: { gt: 0 },
          AND: [
            ...matching(query.filter),
            after ? beyond(CUSTOMER_ORDERS[orderBy], 'Customer', after, 'after') : {},
            before ? beyond(CUSTOMER_ORDERS[orderBy], 'Customer', before, 'before') : {},
          ],
        },
        orderBy: inOrder(CUSTOMER_ORDERS[orderBy]),
        take,
      });
    },

    /** The number of customers with a settled payment. Null if there are more than `COUNT_LIMIT`. */
    async count(viewer: Viewer, projectId: string, filter: CustomerFilter): Promise<number | null> {
      const where = {
        ...(await inProject(db.prisma, viewer, projectId)),
        // Unlike the payment count, this column is indexed.
        lastPaymentAt: { not: null },
        AND: matching(filter),
      };
      return exactCount(await db.prisma.customer.count({ where, take: COUNT_AT_MOST }));
    },

    /** Exact totals for the customers with a settled payment, no matter how many there are. */
    async totals(viewer: Viewer, projectId: string, filter: CustomerFilter): Promise<CustomerTotals> {
      const { _count, _sum } = await db.prisma.customer.aggregate({
        where: {
          ...(await inProject(db.prisma, viewer, projectId)),
          lastPaymentAt: { not: null },
          AND: matching(filter),
        },
        _count: { _all: true },
        _sum: { paymentCount: true, totalAtomic: true },
      });
      const totalAtomic = _sum.totalAtomic === null ? 0n : BigInt(_sum.totalAtomic.toFixed(0));
      return { customerCount: _count._all, paymentCount: _sum.paymentCount ?? 0, totalAtomic };
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

function matching({ walletAddress, minTotalUsd, ...period }: CustomerFilter): Prisma.CustomerWhereInput[] {
  const times = timeIn(period);
  parseInput(customerFilterInput, { walletAddress, minTotalUsd });
  return [
    walletAddress ? { walletAddress: getAddress(walletAddress.toLowerCase()) } : {},
    minTotalUsd == null ? {} : { totalAtomic: { gte: parseUsd(minTotalUsd)!.toString() } },
    times ? { lastPaymentAt: times } : {},
  ];
}
