import { PRICE_GRACE_SECONDS } from '../../features/endpoints/price-grace.ts';
import { formatUsd } from '../../money.ts';
import type { Network } from '../chain/networks.ts';
import type { Route } from '../routing/route-table.ts';

/** How long an authorization is asked to live: an old price stays valid for as long. */
export const MAX_TIMEOUT_SECONDS = PRICE_GRACE_SECONDS;
/** The longest that an upstream may take for its whole answer. */
export const UPSTREAM_TIMEOUT_SECONDS = 60;
/** What has to be left of an authorization after the upstream has answered: the settlement needs time, too. */
export const SETTLEMENT_SECONDS = 10;
/** How much longer than asked an authorization may live, for clocks that differ. */
const CLOCK_SKEW_SECONDS = 600;
export const MAX_LIFE_SECONDS = MAX_TIMEOUT_SECONDS + CLOCK_SKEW_SECONDS;
/** Below this much remaining life a payment is not begun: an upstream needs time. */
export const MIN_LIFE_SECONDS = SETTLEMENT_SECONDS + 5;

export const SCHEME = 'exact';

/** Terms of x402 version 2. Amounts are atomic units as decimal text. */
export type RequirementsV2 = {
  scheme: string;
  network: string;
  amount: string;
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: { name: string; version: string };
};

/** Terms of x402 version 1, which also say what they are for. */
export type RequirementsV1 = Omit<RequirementsV2, 'amount'> & {
  maxAmountRequired: string;
  resource: string;
  description: string;
  mimeType: string;
  outputSchema: Record<string, never>;
};

/** What is paid for, as the buyer knows it. */
export type Resource = { url: string; description: string; mimeType: string };

export function resourceOf(route: Route, url: string): Resource {
  return { url, description: route.description ?? '', mimeType: '' };
}

/** Terms of a route at a price, in both versions. */
export function requirementsV2(network: Network, route: Route, priceAtomic: bigint): RequirementsV2 {
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

export function requirementsV1(
  network: Network,
  route: Route,
  priceAtomic: bigint,
  resource: Resource,
): RequirementsV1 {
  const { amount, ...common } = requirementsV2(network, route, priceAtomic);
  const { url, description, mimeType } = resource;
  return {
    ...common,
    network: network.v1Name,
    maxAmountRequired: amount,
    resource: url,
    description,
    mimeType,
    outputSchema: {},
  };
}

/** The prices that a payment may be made at: the one in force, and for a while after a change the one before. */
export function acceptedPrices({ priceAtomic, previousPrice }: Route, now: Date): bigint[] {
  return previousPrice && now < previousPrice.validUntil ? [priceAtomic, previousPrice.priceAtomic] : [priceAtomic];
}

/** The price for people. */
export function priceText(network: Network, route: Route): string {
  return `${formatUsd(route.priceAtomic)} ${network.asset.symbol}`;
}
