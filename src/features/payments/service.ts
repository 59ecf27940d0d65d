import { inProject, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import { findNetwork } from '../../gateway/chain/networks.ts';
import type { Payment, PaymentStatus, Prisma } from '../../generated/prisma/client.ts';
import { type PaymentFilter, toColumns } from './filter.ts';

export type PaymentTotals = {
  paymentCount: number;
  settledCount: number;
  settledAtomic: bigint;
  failedCount: number;
  openCount: number;
};
export type PaymentService = ReturnType<typeof createPaymentService>;

/** A project's payments, as its owner sees them. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`. */
export function createPaymentService({ db, isLocalChain = false }: { db: Database; isLocalChain?: boolean }) {
  return {
    /** The block explorer's page for a payment's transaction. Null if there is no transaction or no known explorer. */
    explorerUrl({ network, transactionHash }: Pick<Payment, 'network' | 'transactionHash'>): string | null {
      const transactionUrl = isLocalChain ? undefined : findNetwork(network)?.transactionUrl;
      return transactionUrl && transactionHash ? transactionUrl + transactionHash : null;
    },

    async list(viewer: Viewer, projectId: string, filter: PaymentFilter, query: Prisma.PaymentFindManyArgs) {
      return db.prisma.payment.findMany({
        ...query,
        where: { AND: [query.where ?? {}, await inProject(db.prisma, viewer, projectId), ...matching(filter)] },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.PaymentFindFirstArgs = {},
    ): Promise<Payment | null> {
      return db.prisma.payment.findFirst({ ...query, where: visibleItem(viewer, 'Payment', id, projectId) });
    },

    /** Totals for the matching payments. Payments that failed at VERIFY don't count, because they are soon deleted. */
    async totals(viewer: Viewer, projectId: string, filter: PaymentFilter): Promise<PaymentTotals> {
      const groups = await db.prisma.payment.groupBy({
        by: ['status'],
        where: { AND: [await inProject(db.prisma, viewer, projectId), COUNTED, ...matching(filter)] },
        _count: { _all: true },
        _sum: { amountAtomic: true },
      });
      const countOf = (status: PaymentStatus) => groups.find((group) => group.status === status)?._count._all ?? 0;
      const paymentCount = groups.reduce((sum, { _count }) => sum + _count._all, 0);
      const settled = groups.find(({ status }) => status === 'SETTLED');
      return {
        paymentCount,
        settledCount: countOf('SETTLED'),
        settledAtomic: BigInt(settled?._sum.amountAtomic?.toFixed(0) ?? 0),
        failedCount: countOf('FAILED'),
        openCount: paymentCount - countOf('SETTLED') - countOf('FAILED'),
      };
    },
  };
}

const COUNTED: Prisma.PaymentWhereInput = { OR: [{ failureStage: null }, { failureStage: { not: 'VERIFY' } }] };

/**
 * A condition that an index has, and that all payments with the status meet. No index has the status itself, because
 * each payment would be written to that index several times.
 */
const markOf = (status: PaymentStatus) => MARKS[status === 'SETTLED' || status === 'FAILED' ? status : 'open'];
const MARKS = {
  SETTLED: { settledAt: { not: null } },
  FAILED: { failureStage: { not: null } },
  open: { leasedUntil: { not: null } },
} satisfies Record<string, Prisma.PaymentWhereInput>;

function matching(filter: PaymentFilter): Prisma.PaymentWhereInput[] {
  const { status, endpointId, customerId, payer, transactionHash, firstId, endId } = toColumns(filter);
  return [
    ...(status ? [{ status: { in: status } }, { OR: [...new Set(status.map(markOf))] }] : []),
    endpointId ? { endpointId } : {},
    customerId ? { customerId } : {},
    payer ? { payer } : {},
    transactionHash ? { transactionHash } : {},
    firstId ? { id: { gte: firstId } } : {},
    endId ? { id: { lt: endId } } : {},
  ];
}
