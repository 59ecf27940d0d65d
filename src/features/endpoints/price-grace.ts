import type { Transaction } from '../../database/client.ts';
import type { Endpoint } from '../../generated/prisma/client.ts';

/** How long an old price stays valid after a change. Buyers may already have signed an authorization for it. */
export const PRICE_GRACE_SECONDS = 120;
/** How many old prices an endpoint can have at the same time. */
const MAX_PREVIOUS_PRICES = 10;

/** Keeps accepting the old price for a while, because payments at that price may already be in flight. */
export async function keepPrice(tx: Pick<Transaction, '$executeRaw'>, { id, priceAtomic }: Endpoint): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO "PreviousPrice" ("endpointId", "priceAtomic", "validUntil")
    VALUES (${id}, ${priceAtomic.toFixed(0)}::numeric, now() + make_interval(secs => ${PRICE_GRACE_SECONDS}))
    ON CONFLICT ("endpointId", "priceAtomic") DO UPDATE SET "validUntil" = excluded."validUntil"`;
  await tx.$executeRaw`
    DELETE FROM "PreviousPrice" WHERE "endpointId" = ${id} AND ("validUntil" <= now() OR "priceAtomic" NOT IN (
      SELECT "priceAtomic" FROM "PreviousPrice" WHERE "endpointId" = ${id}
      ORDER BY "validUntil" DESC LIMIT ${MAX_PREVIOUS_PRICES}
    ))`;
}
