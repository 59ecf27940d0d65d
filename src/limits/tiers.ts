/** A tier's limits. Null means unlimited. */
export type Limits = {
  requestsPerMinute: number | null;
  maxConnectors: number | null;
  maxWebhooksPerProject: number | null;
  /** How many deliveries the account's replays can resend per day. */
  maxReplayedPerDay: number;
  /** How many bytes of delivery requests and responses are stored per day for the account. */
  maxContentBytesPerDay: number;
  /** How many bytes of endpoints' schemas and examples the account can store per day. */
  maxSchemaBytesPerDay: number;
  /** How many deliveries the account's changes to endpoints can write per day. */
  maxChangeDeliveriesPerDay: number;
};

export const MB = 1024 * 1024;

/** The tiers and their limits. Enterprise accounts can have a custom rate limit; see `limitsOf`. */
export const TIERS = {
  STARTER: {
    requestsPerMinute: 60,
    maxConnectors: 0,
    maxWebhooksPerProject: 10,
    maxReplayedPerDay: 100_000,
    maxContentBytesPerDay: 100 * MB,
    maxSchemaBytesPerDay: 256 * MB,
    maxChangeDeliveriesPerDay: 100_000,
  },
  PRO: {
    requestsPerMinute: 300,
    maxConnectors: 5,
    maxWebhooksPerProject: 50,
    maxReplayedPerDay: 1_000_000,
    maxContentBytesPerDay: 1_024 * MB,
    maxSchemaBytesPerDay: 1_024 * MB,
    maxChangeDeliveriesPerDay: 1_000_000,
  },
  BUSINESS: {
    requestsPerMinute: 1000,
    maxConnectors: 15,
    maxWebhooksPerProject: 200,
    maxReplayedPerDay: 5_000_000,
    maxContentBytesPerDay: 5 * 1_024 * MB,
    maxSchemaBytesPerDay: 2 * 1_024 * MB,
    maxChangeDeliveriesPerDay: 5_000_000,
  },
  ENTERPRISE: {
    requestsPerMinute: null,
    maxConnectors: null,
    maxWebhooksPerProject: null,
    maxReplayedPerDay: 20_000_000,
    maxContentBytesPerDay: 20 * 1_024 * MB,
    maxSchemaBytesPerDay: 4 * 1_024 * MB,
    maxChangeDeliveriesPerDay: 20_000_000,
  },
} as const satisfies Record<string, Limits>;

export type Tier = keyof typeof TIERS;

/**
 * How many console queries and subscriptions a user can send per minute, regardless of their tier. They don't count as
 * the account's requests, so viewing the console never uses up requests that programs need.
 */
export const CONSOLE_READS_PER_MINUTE = 120;

/**
 * How many megabytes of larger responses are stored per day for `Idempotency-Key`, regardless of the account's tier.
 * See `features/idempotency/store.ts`.
 */
export const STORED_RESPONSE_MEGABYTES_PER_DAY = 64;

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
