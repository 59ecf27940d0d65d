import { PRICE_GRACE_SECONDS } from '../../features/endpoints/price-grace.ts';
import { MAX_UPSTREAM_SECONDS } from '../../features/endpoints/settlement.ts';
import { formatUsd } from '../../money.ts';
import type { Network } from '../chain/networks.ts';
import { type ServiceFacts, serviceFacts } from '../discovery/service-facts.ts';
import type { PaidRoute } from '../routing/load-routes.ts';

/** The requested lifetime of an authorization. An old price stays valid for just as long. */
export const MAX_TIMEOUT_SECONDS = PRICE_GRACE_SECONDS;
/**
 * How long an upstream may take to send its whole response, and the default limit for each wait for a streamed
 * response.
 */
export const UPSTREAM_TIMEOUT_SECONDS = MAX_UPSTREAM_SECONDS.AFTER_RESPONSE;
/** How long an authorization must still be valid after the upstream's response, so there is time to settle. */
export const SETTLEMENT_SECONDS = 10;
/** How much longer than requested an authorization may be valid, to allow for clock skew. */
const CLOCK_SKEW_SECONDS = 600;
export const MAX_LIFE_SECONDS = MAX_TIMEOUT_SECONDS + CLOCK_SKEW_SECONDS;
/** How long the verification of a payment may take. */
const VERIFICATION_SECONDS = 5;

export const SCHEME = 'exact';

/** Terms in x402 version 2. Amounts are in atomic units, as decimal strings. */
export type RequirementsV2 = {
  scheme: string;
  network: string;
  amount: string;
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: { name: string; version: string };
};

/** Terms in x402 version 1, which include the resource. */
export type RequirementsV1 = Omit<RequirementsV2, 'amount'> & {
  maxAmountRequired: string;
  resource: string;
  description: string;
  mimeType: string;
  /** The parsed `outputSchema` of a declaration, or an empty object. */
  outputSchema: Record<string, unknown>;
};

/** What the buyer pays for. `description` may be shortened. */
export type Resource = { url: string; description: string; mimeType: string } & ServiceFacts;

/** Coinbase's facilitator rejects payments with longer descriptions. */
const MAX_DESCRIPTION_CHARACTERS = 500;

export function resourceOf(route: PaidRoute, url: string): Resource {
  const { description, offer } = route;
  return { url, description: shortened(description ?? ''), mimeType: offer.mimeType ?? '', ...serviceFacts(offer) };
}

/** Truncates at a code point boundary, because half a surrogate pair can't be encoded. */
function shortened(text: string): string {
  const characters = [...text];
  if (characters.length <= MAX_DESCRIPTION_CHARACTERS) return text;
  return `${characters.slice(0, MAX_DESCRIPTION_CHARACTERS - 1).join('')}…`;
}

/** A route's terms at a price, in x402 version 2. */
export function requirementsV2(network: Network, route: PaidRoute, priceAtomic: bigint): RequirementsV2 {
  const { asset } = network;
  return {
    scheme: SCHEME,
    network: network.id,
    amount: priceAtomic.toString(),
    asset: asset.address,
    payTo: route.payTo,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { name: asset.name, version: asset.version },
  };
}

/** The same terms in x402 version 1. */
export function requirementsV1(
  network: Network,
  route: PaidRoute,
  priceAtomic: bigint,
  resource: Resource,
  outputSchema: RequirementsV1['outputSchema'] = {},
): RequirementsV1 {
  const { amount, ...common } = requirementsV2(network, route, priceAtomic);
  const { url, description, mimeType } = resource;
  return {
    ...common,
    network: network.v1Name ?? network.id,
    maxAmountRequired: amount,
    resource: url,
    // Some version 1 clients don't accept an empty description.
    description: description || route.path,
    mimeType,
    outputSchema,
  };
}

/** The prices at which a payment can be made: the current one and, for a while after a change, the earlier ones. */
export function acceptedPrices({ priceAtomic, previousPrices }: PaidRoute, now: Date): bigint[] {
  const stillValid = previousPrices.filter(({ validUntil }) => now < validUntil);
  return [priceAtomic, ...stillValid.map((previous) => previous.priceAtomic)];
}

/**
 * How long an authorization must still be valid when a payment starts: long enough to use the upstream's whole time
 * limit and then settle. Otherwise, upstreams would do work for payments that are about to expire.
 */
export function minLifeSeconds({ settlement, timeoutSeconds }: PaidRoute): number {
  const upstreamSeconds = settlement === 'BEFORE_REQUEST' ? 0 : (timeoutSeconds ?? UPSTREAM_TIMEOUT_SECONDS);
  return VERIFICATION_SECONDS + upstreamSeconds + SETTLEMENT_SECONDS;
}

/** The price, formatted for display. */
export function priceText({ priceAtomic, networks }: PaidRoute): string {
  return `${formatUsd(priceAtomic)} ${networks[0]!.asset.symbol}`;
}
