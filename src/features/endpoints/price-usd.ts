import type { Endpoint } from '../../generated/prisma/client.ts';
import { formatUsd } from '../../money.ts';

/** A stored endpoint's price as a decimal USD string. */
export function priceUsdOf(endpoint: Pick<Endpoint, 'priceAtomic'>): string {
  return formatUsd(BigInt(endpoint.priceAtomic.toFixed(0)));
}
