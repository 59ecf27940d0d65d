import { inProject, visibleItem } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { timeIn } from '../../database/created-between.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
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
export function createPaymentService({ db, isLocalChain = false }: { db: TenantDatabase; isLocalChain?: boolean }) {
  return {
    /** The block explorer's page for a payment's transaction. Null if there is no transaction or no known explorer. */
    explorerUrl({ network, transactionHash }: Pick<Payment, 'network' | 'transactionHash'>): string | null {
      const transactionUrl = isLocalChain ? undefined : findNetwork(network)?.transactionUrl;
      return transactionUrl && transactionHash ? transactionUrl + transactionHash : null;
    },

    async list(viewer: Viewer, projectId: string, filter: PaymentFilter, query: Prisma.PaymentFindManyArgs) {
      return db.prisma.payment.findMany({
        ...query,
        where: { AND: [await inProject(db.prisma, viewer, projectId), query.where ?? {}, ...matching(filter)] },
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
 * The condition of an index that covers all payments with the status. The status itself isn't indexed, because each
 * payment would be written to that index several times.
 */
const markOf = (status: PaymentStatus) => MARKS[status === 'SETTLED' || status === 'FAILED' ? status : 'open'];
const MARKS = {
  SETTLED: { settledAt: { not: null } },
  FAILED: { failureStage: { not: null } },
  open: { leasedUntil: { not: null } },
} satisfies Record<string, Prisma.PaymentWhereInput>;

const EVERY_MARK = { OR: Object.values(MARKS) };

function matching(filter: PaymentFilter): Prisma.PaymentWhereInput[] {
  const { status, endpointId, customerId, payer, transactionHash, firstId, endId, ...columns } = toColumns(filter);
  const { identifier, minAtomic, maxAtomic, finishedSince, finishedBefore } = columns;
  const finished = timeIn({ from: finishedSince, to: finishedBefore });
  const amountAtomic = { ...(minAtomic && { gte: minAtomic }), ...(maxAtomic && { lte: maxAtomic }) };
  const hasAmount = minAtomic !== null || maxAtomic !== null;
  return [
    ...(status ? [{ status: { in: status } }, { OR: [...new Set(status.map(markOf))] }] : []),
    // The index on amounts contains only settled payments.
    ...(hasAmount ? [{ amountAtomic }, ...(status ? [] : [EVERY_MARK])] : []),
    endpointId ? { endpointId } : {},
    customerId ? { customerId } : {},
    payer ? { payer } : {},
    transactionHash ? { transactionHash } : {},
    // The same condition as in the index on identifiers: failed payments have released theirs.
    identifier ? { paymentIdentifier: identifier, failureStage: null } : {},
    firstId ? { id: { gte: firstId } } : {},
    endId ? { id: { lt: endId } } : {},
    // The times at which revenue counts payments.
    finished ? { OR: [{ settledAt: finished }, { ...MARKS.FAILED, updatedAt: finished }] } : {},
  ];
}
