/** What an account of a tier may do. null means unlimited. */
export type Limits = {
  requestsPerMinute: number | null;
  maxConnectors: number | null;
  maxWebhooksPerProject: number | null;
};

/** The tiers and their limits. An enterprise account may carry a rate of its own, see `limitsOf`. */
export const TIERS = {
  STARTER: { requestsPerMinute: 60, maxConnectors: 0, maxWebhooksPerProject: 10 },
  PRO: { requestsPerMinute: 300, maxConnectors: 5, maxWebhooksPerProject: 50 },
  BUSINESS: { requestsPerMinute: 1000, maxConnectors: 15, maxWebhooksPerProject: 200 },
  ENTERPRISE: { requestsPerMinute: null, maxConnectors: null, maxWebhooksPerProject: null },
} as const satisfies Record<string, Limits>;

export type Tier = keyof typeof TIERS;

/** The largest rate that can be agreed with an enterprise account; above it, leave the rate unlimited. */
export const MAX_REQUESTS_PER_MINUTE = 1_000_000;

/** The tier of that name in any case (`"pro"`), or undefined when there is none. */
export function parseTier(name: string): Tier | undefined {
  const tier = name.toUpperCase();
  return Object.hasOwn(TIERS, tier) ? (tier as Tier) : undefined;
}

/** Whether a number can be the rate of an enterprise account. */
export function isRequestsPerMinute(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_REQUESTS_PER_MINUTE;
}

/**
 * The limits of an account.
 *
 * @param requestsPerMinute the rate agreed with it; counts for enterprise accounts only, null for unlimited.
 */
export function limitsOf(tier: Tier, requestsPerMinute: number | null): Limits {
  return tier === 'ENTERPRISE' ? { ...TIERS.ENTERPRISE, requestsPerMinute } : TIERS[tier];
}
