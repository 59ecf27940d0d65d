import type { RouteOffer } from '../routing/route-offer.ts';

/** Facts about a seller that x402 catalogs show. */
export type ServiceFacts = { serviceName?: string; tags?: readonly string[]; iconUrl?: string };

/** Catalogs ignore names that are longer or contain other characters. */
const SERVICE_NAME = /^[\x20-\x7e]{1,32}$/;
/** Catalogs ignore any further tags. */
const MAX_TAGS = 5;

/**
 * The facts that catalogs accept.
 * https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md#service-metadata-on-resource
 */
export function serviceFacts({ serviceName, tags, iconUrl }: RouteOffer): ServiceFacts {
  return {
    ...(SERVICE_NAME.test(serviceName) && { serviceName }),
    ...(tags.length > 0 && { tags: tags.slice(0, MAX_TAGS) }),
    ...(iconUrl !== null && { iconUrl }),
  };
}
