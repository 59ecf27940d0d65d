/** A tier's limits. Null means unlimited. */
export type Limits = {
  requestsPerMinute: number | null;
  maxConnectors: number | null;
  maxWebhooksPerProject: number | null;
};

/** The tiers and their limits. Enterprise accounts can have their own rate limit; see `limitsOf`. */
export const TIERS = {
  STARTER: { requestsPerMinute: 60, maxConnectors: 0, maxWebhooksPerProject: 10 },
  PRO: { requestsPerMinute: 300, maxConnectors: 5, maxWebhooksPerProject: 50 },
  BUSINESS: { requestsPerMinute: 1000, maxConnectors: 15, maxWebhooksPerProject: 200 },
  ENTERPRISE: { requestsPerMinute: null, maxConnectors: null, maxWebhooksPerProject: null },
} as const satisfies Record<string, Limits>;

export type Tier = keyof typeof TIERS;

/** The highest rate limit for an enterprise account. To go above it, make the account unlimited. */
export const MAX_REQUESTS_PER_MINUTE = 1_000_000;

/** The tier with this name in uppercase or lowercase (for example, `"pro"`), or undefined. */
export function parseTier(name: string): Tier | undefined {
  const tier = name.toUpperCase();
  return Object.hasOwn(TIERS, tier) ? (tier as Tier) : undefined;
}

/** Whether a number is a valid rate limit for an enterprise account. */
export function isRequestsPerMinute(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_REQUESTS_PER_MINUTE;
}

/**
 * An account's limits.
 *
 * @param requestsPerMinute the agreed rate limit, or null for unlimited. Applies only to enterprise accounts.
 */
export function limitsOf(tier: Tier, requestsPerMinute: number | null): Limits {
  return tier === 'ENTERPRISE' ? { ...TIERS.ENTERPRISE, requestsPerMinute } : TIERS[tier];
}
