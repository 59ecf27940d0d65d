/**
 * The most that x402 clients pay for one request by default: `x402-fetch` 1.2.0, `@x402/fetch` since 2.23.0, and
 * `agentcash` 0.14.4. Others have no limit; see docs/clients.md.
 */
const CLIENT_LIMITS = [
  { client: 'x402-fetch', usd: '0.10', atomic: 100_000n },
  { client: '@x402/fetch', usd: '1', atomic: 1_000_000n },
  { client: 'agentcash', usd: '5', atomic: 5_000_000n },
] as const;

/**
 * Says which clients refuse a price by default.
 *
 * @param priceAtomic in millionths of a USD.
 * @returns undefined if all of them pay it.
 */
export function clientLimitWarning(priceAtomic: bigint): string | undefined {
  const refusing = CLIENT_LIMITS.filter(({ atomic }) => priceAtomic > atomic);
  if (refusing.length === 0) return undefined;
  const limits = refusing.map(({ client, usd }) => `${client} (${usd} USD)`);
  const list = new Intl.ListFormat('en', { type: 'conjunction' }).format(limits);
  return `The price is higher than these clients pay for a request by default: ${list}. Their users can raise the limit.`;
}
