import type { Transaction } from '../../database/client.ts';
import { executeWithPrisma, statement } from '../../database/statement.ts';
import type { Endpoint } from '../../generated/prisma/client.ts';
import { methodsOf } from './methods.ts';

/** How long an old price stays valid after a change. Buyers may already have signed an authorization for it. */
export const PRICE_GRACE_SECONDS = 120;
/** How many old prices an endpoint can have at the same time. */
const MAX_PREVIOUS_PRICES = 10;

const KEEP_PRICE = statement(
  'previous-price-keep',
  `INSERT INTO "PreviousPrice" ("endpointId", "priceAtomic", "validUntil")
   VALUES ($1, $2::numeric, now() + make_interval(secs => $3))
   ON CONFLICT ("endpointId", "priceAtomic") DO UPDATE SET "validUntil" = excluded."validUntil"`,
);

const DELETE_OLD_PRICES = statement(
  'previous-price-delete-old',
  `DELETE FROM "PreviousPrice" WHERE "endpointId" = $1 AND ("validUntil" <= now() OR "priceAtomic" NOT IN (
     SELECT "priceAtomic" FROM "PreviousPrice" WHERE "endpointId" = $1
     ORDER BY "validUntil" DESC LIMIT $2
   ))`,
);

const DELETE_PRICES = statement('previous-price-delete', 'DELETE FROM "PreviousPrice" WHERE "endpointId" = $1');

/**
 * Keeps accepting the old price for a while, because payments at that price may already be in flight. If the endpoint now
 * serves requests for which buyers haven't been offered its old prices, they are no longer accepted: otherwise, buyers who
 * know them could use them there.
 */
export async function keepPrice(
  tx: Pick<Transaction, '$executeRawUnsafe'>,
  before: Endpoint,
  after: Endpoint,
): Promise<void> {
  const { id, priceAtomic, isActive } = before;
  if (servesOthers(before, after)) {
    await executeWithPrisma(tx, DELETE_PRICES(id));
    return;
  }
  if (!isActive || after.priceAtomic.equals(priceAtomic)) return;
  await executeWithPrisma(tx, KEEP_PRICE(id, priceAtomic.toFixed(0), PRICE_GRACE_SECONDS));
  await executeWithPrisma(tx, DELETE_OLD_PRICES(id, MAX_PREVIOUS_PRICES));
}

/** Whether an endpoint serves requests that it didn't serve before. */
function servesOthers(before: Endpoint, after: Endpoint): boolean {
  if (after.path !== before.path || after.protocol !== before.protocol) return true;
  const known = methodsOf(before);
  return methodsOf(after).some((method) => !known.includes(method));
}
