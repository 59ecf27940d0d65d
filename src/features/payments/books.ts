import { getAddress } from 'viem';
import type { Transaction } from '../../database/client.ts';
import { type Customer, type Payment, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { formatUsd } from '../../money.ts';
import type { EventService } from '../events/service.ts';
import { atomicOf, paymentPayload } from './payload.ts';

/**
 * The time used to book a payment, as SQL to evaluate after `enterBooks`: the time when it happened if that was today
 * (UTC), otherwise now, because finished days aren't reopened.
 */
export function bookingTime(happenedAt: Date | undefined, clock: (() => Date) | undefined): Prisma.Sql {
  const now = clock ? Prisma.sql`${clock().toISOString()}::timestamptz` : Prisma.sql`clock_timestamp()`;
  if (!happenedAt) return now;
  const then = Prisma.sql`${happenedAt.toISOString()}::timestamptz`;
  return Prisma.sql`CASE WHEN ${dayOf(then)} = ${dayOf(now)} THEN ${then} ELSE ${now} END`;
}

function dayOf(time: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${time} AT TIME ZONE 'UTC')::date`;
}

/** The customer with the payer's wallet in the payment's project. */
export async function findOrCreateCustomer(tx: Transaction, { projectId, payer }: Payment): Promise<string> {
  const where = { projectId, walletAddress: getAddress(payer) };
  await tx.customer.createMany({ data: [{ id: newId('Customer'), ...where }], skipDuplicates: true });
  return (await tx.customer.findFirstOrThrow({ where, select: { id: true } })).id;
}

/** Adds a settled payment to the totals of its customer and its day, and records the resulting events. */
export async function bookSettlement(
  tx: Transaction,
  events: EventService,
  payment: Payment,
  milestonesAtomic: readonly bigint[],
): Promise<void> {
  const { projectId, settledAt, amountAtomic } = payment;
  const transactionHash = payment.transactionHash!;
  const customer = await countForCustomer(tx, payment);
  const payload = paymentPayload(payment);
  await events.record(tx, { projectId, type: 'payment.settled', data: { ...payload, transactionHash } });

  const { paymentId, endpointId, endpointPath, amountUsd, asset, network } = payload;
  const who = { customerId: customer.id, payer: customer.walletAddress, paymentId };
  if (customer.paymentCount === 1) {
    const what = { endpointId, endpointPath, amountUsd, amountAtomic: payload.amountAtomic, asset, network };
    await events.record(tx, {
      projectId,
      type: 'customer.first_payment',
      data: { ...who, ...what, transactionHash },
    });
  }
  const total = atomicOf(customer.totalAtomic);
  for (const milestone of milestonesPassed(milestonesAtomic, total - atomicOf(amountAtomic), total)) {
    await events.record(tx, {
      projectId,
      type: 'customer.milestone',
      data: {
        ...who,
        milestoneUsd: formatUsd(milestone),
        totalUsd: formatUsd(total),
        paymentCount: customer.paymentCount,
      },
    });
  }
  // This comes last, because it makes an endpoint's concurrent payments wait for each other.
  const day = dayOf(Prisma.sql`${settledAt!.toISOString()}::timestamptz`);
  await enterDay(tx, payment, day, { totalAtomic: payload.amountAtomic, paymentCount: 1, failedCount: 0 });
}

/** The milestones between `before` (exclusive) and `after` (inclusive), in ascending order. */
function milestonesPassed(milestones: readonly bigint[], before: bigint, after: bigint): bigint[] {
  return milestones
    .filter((milestone) => before < milestone && milestone <= after)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

async function countForCustomer(tx: Transaction, payment: Payment): Promise<Customer> {
  const settled = Prisma.sql`${payment.settledAt!.toISOString()}::timestamptz`;
  const [customer] = await tx.$queryRaw<Customer[]>`
    UPDATE "Customer" SET
      "paymentCount" = "paymentCount" + 1,
      "totalAtomic" = "totalAtomic" + ${payment.amountAtomic.toFixed(0)}::numeric,
      "firstPaymentAt" = least("firstPaymentAt", ${settled}),
      "lastPaymentAt" = greatest("lastPaymentAt", ${settled})
    WHERE "id" = ${payment.customerId} RETURNING *`;
  if (!customer) throw new Error(`Settled payment ${payment.id} has no customer`);
  return customer;
}

/** Adds a failed payment to the totals of its day, and records its event. */
export async function bookFailure(
  tx: Transaction,
  events: EventService,
  payment: Payment,
  failedAt: Prisma.Sql,
): Promise<void> {
  const { projectId, failureStage, failureReason, failureMessage, transactionHash, upstreamStatusCode } = payment;
  await events.record(tx, {
    projectId,
    type: 'payment.failed',
    data: {
      ...paymentPayload(payment),
      stage: failureStage!.toLowerCase() as 'verify' | 'upstream' | 'settle',
      reason: failureReason ?? '',
      message: failureMessage ?? '',
      ...(failureStage === 'UPSTREAM' && upstreamStatusCode !== null && { upstreamStatusCode }),
      transactionHash,
    },
  });
  await enterDay(tx, payment, dayOf(failedAt), { totalAtomic: '0', paymentCount: 0, failedCount: 1 });
}

/** Adds to an endpoint's totals for a day. A day's first entry queues the daily summary. */
async function enterDay(
  tx: Transaction,
  { projectId, endpointId }: Payment,
  day: Prisma.Sql,
  { totalAtomic, paymentCount, failedCount }: { totalAtomic: string; paymentCount: number; failedCount: number },
): Promise<void> {
  await tx.$executeRaw`
    WITH entry AS (
      INSERT INTO "RevenueDay" AS r ("projectId", "day", "endpointId", "totalAtomic", "paymentCount", "failedCount")
      VALUES (${projectId}, ${day}, ${endpointId}, ${totalAtomic}::numeric, ${paymentCount}, ${failedCount})
      ON CONFLICT ("projectId", "day", "endpointId") DO UPDATE SET
        "totalAtomic" = r."totalAtomic" + excluded."totalAtomic",
        "paymentCount" = r."paymentCount" + excluded."paymentCount",
        "failedCount" = r."failedCount" + excluded."failedCount"
      RETURNING "projectId", "day"
    )
    INSERT INTO "DailySummary" ("projectId", "day") SELECT * FROM entry ON CONFLICT DO NOTHING`;
}
