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

const FORGET_LOWER_PRICES = statement(
  'previous-price-forget-lower',
  `DELETE FROM "PreviousPrice" WHERE ("endpointId", "priceAtomic") IN (
     SELECT o."endpointId", o."priceAtomic" FROM "PreviousPrice" o JOIN "Endpoint" e ON e."id" = o."endpointId"
     WHERE e."projectId" = $1 AND e."id" <> $2 AND o."priceAtomic" < $3::numeric
     FOR UPDATE OF o SKIP LOCKED
   )`,
);

/**
 * Stops accepting earlier prices of the project's other endpoints that are lower than the price of an endpoint that no
 * longer serves all of its requests. A less specific endpoint, such as `/*`, may serve them now, and buyers have never been
 * offered its earlier prices for them. Rows that are locked belong to price changes that are made at the same time. To avoid
 * a deadlock, call this after changing the endpoint's own prices.
 */
export async function releaseRequests(
  tx: Pick<Transaction, '$executeRawUnsafe'>,
  { id, projectId, priceAtomic }: Pick<Endpoint, 'id' | 'projectId' | 'priceAtomic'>,
): Promise<void> {
  await executeWithPrisma(tx, FORGET_LOWER_PRICES(projectId, id, priceAtomic.toFixed(0)));
}

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
  if (servesOthers(before, after)) await executeWithPrisma(tx, DELETE_PRICES(id));
  else if (isActive && !after.priceAtomic.equals(priceAtomic)) {
    await executeWithPrisma(tx, KEEP_PRICE(id, priceAtomic.toFixed(0), PRICE_GRACE_SECONDS));
    await executeWithPrisma(tx, DELETE_OLD_PRICES(id, MAX_PREVIOUS_PRICES));
  }
  if (servesFewer(before, after)) await releaseRequests(tx, before);
}

/** Whether an endpoint serves requests that it didn't serve before. */
function servesOthers(before: Endpoint, after: Endpoint): boolean {
  if (after.path !== before.path || after.protocol !== before.protocol) return true;
  return hasMoreMethods(after, before);
}

/** Whether an endpoint no longer serves some requests, so that another endpoint may serve them. */
function servesFewer(before: Endpoint, after: Endpoint): boolean {
  return after.path !== before.path || hasMoreMethods(before, after);
}

function hasMoreMethods(one: Endpoint, other: Endpoint): boolean {
  const known = methodsOf(other);
  return methodsOf(one).some((method) => !known.includes(method));
}
