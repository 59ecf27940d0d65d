import { ADVISORY_LOCKS } from '../../database/advisory-locks.ts';
import type { Transaction } from '../../database/client.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { alreadyAt } from './steps.ts';

/** A payment whose money may not have left the payer's wallet yet. */
export type InFlight = { nonce: `0x${string}`; amountAtomic: bigint };

/**
 * Counts a claimed payment among its payer's payments in flight, and returns the others. Across all processes, only one
 * call at a time runs for a payer, so of two simultaneous payments, the second sees the first.
 *
 * Unverified claims don't count, because anyone can make them in the name of any wallet. Payments settled since the
 * claim do count, because the balance may have been read before the money left.
 */
export async function holdFunds(tx: Transaction, claimed: Payment): Promise<InFlight[]> {
  const { id, leaseToken, network, assetAddress, payer, updatedAt: claimedAt } = claimed;
  await tx.$queryRaw`
    SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.payer}, hashtext(${`${network} ${assetAddress} ${payer}`}))::text AS "locked"`;
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
