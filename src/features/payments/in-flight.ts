import type { Transaction } from '../../database/client.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { alreadyAt } from './lease.ts';

/** Keeps these locks apart from other advisory locks. */
const PAYER_LOCK = 403;

/** A payment that takes of its payer's money what may not have left the wallet yet. */
export type InFlight = { nonce: `0x${string}`; amountAtomic: bigint };

/**
 * Marks a claimed payment as verified for its payer's account and reads what else is in flight there. One at a time a
 * payer, in all processes: of two payments that come at once the second one sees the first.
 *
 * Claims that are not verified do not count, since anybody can make them in the name of any wallet. What was settled
 * since the claim does: the money may have been looked at before it left.
 */
export async function holdFunds(tx: Transaction, claimed: Payment): Promise<InFlight[]> {
  const { id, leaseToken, network, assetAddress, payer, updatedAt: claimedAt } = claimed;
  await tx.$queryRaw`
    SELECT pg_advisory_xact_lock(${PAYER_LOCK}, hashtext(${`${network} ${assetAddress} ${payer}`}))::text AS "locked"`;
  const held = await tx.$executeRaw`
    UPDATE "Payment" SET "verifiedAt" = clock_timestamp(),
      "updatedAt" = greatest(clock_timestamp(), "updatedAt" + interval '1 millisecond')
    WHERE "id" = ${id} AND "leaseToken" = ${leaseToken} AND "status" = 'CLAIMED'`;
  if (held === 0) await alreadyAt(tx, { paymentId: id, leaseToken }, 'VERIFIED');
  const others = await tx.$queryRaw<{ nonce: `0x${string}`; amountAtomic: string }[]>`
    SELECT "nonce", "amountAtomic"::text FROM "Payment"
    WHERE "payer" = ${payer} AND "network" = ${network} AND "assetAddress" = ${assetAddress} AND "id" <> ${id}
      AND "leasedUntil" IS NOT NULL AND "verifiedAt" IS NOT NULL
    UNION ALL
    SELECT "nonce", "amountAtomic"::text FROM "Payment"
    WHERE "payer" = ${payer} AND "network" = ${network} AND "assetAddress" = ${assetAddress}
      AND "status" = 'SETTLED' AND "updatedAt" >= ${claimedAt.toISOString()}::timestamptz`;
  return others.map(({ nonce, amountAtomic }) => ({ nonce, amountAtomic: BigInt(amountAtomic) }));
}
