import type { Catalog } from './catalog.ts';
import { writeWhileFitting } from './document-size.ts';

/**
 * The addresses that can be paid for, in the format that x402scan and other directories read.
 *
 * @param base the base URL for the endpoint paths
 */
export function resourcesOf({ offers }: Catalog, base: string): { version: 1; resources: string[] } {
  const paid = offers.filter(({ priceAtomic }) => priceAtomic > 0n);
  return { version: 1, resources: writeWhileFitting(new Set(paid.map(({ path }) => path)), (path) => base + path) };
}
