import type { BuyerLimitPeriod, BuyerRules as StoredRules } from '../../../generated/prisma/client.ts';

/** How much each wallet may buy in a period. At least one of the two is set. */
export type BuyerLimit = {
  period: BuyerLimitPeriod;
  maxRequests: number | null;
  /** In millionths of a dollar. */
  maxSpendAtomic: bigint | null;
};

/** A project's rules for buyers, as the gateway applies them. Wallets are in lowercase. */
export type BuyerRules = {
  /** If there are any, only these wallets may pay. */
  allowed: ReadonlySet<string>;
  denied: ReadonlySet<string>;
  limit: BuyerLimit | undefined;
};

/** A project's rules without their project. */
export type RuleValues = Pick<
  StoredRules,
  'allowedWallets' | 'deniedWallets' | 'period' | 'maxRequests' | 'maxSpendAtomic'
>;

/** The rules of a project that has none. */
export const NO_RULES: RuleValues = {
  allowedWallets: [],
  deniedWallets: [],
  period: 'DAY',
  maxRequests: null,
  maxSpendAtomic: null,
};

/** The rules as JSON, read from the table or alias `b`. */
export const RULES_JSON = `json_build_object('allowed', b."allowedWallets", 'denied', b."deniedWallets", 'period', b."period",
  'maxRequests', b."maxRequests", 'maxSpendAtomic', b."maxSpendAtomic"::text)`;

/** What `RULES_JSON` returns. */
export type RulesJson = {
  allowed: string[];
  denied: string[];
  period: BuyerLimitPeriod;
  maxRequests: number | null;
  maxSpendAtomic: string | null;
};

/** Undefined if every wallet may buy as much as it likes. */
export function rulesOf(json: RulesJson | null): BuyerRules | undefined {
  if (!json) return undefined;
  const { period, maxRequests, maxSpendAtomic } = json;
  const hasLimit = maxRequests !== null || maxSpendAtomic !== null;
  const allowed = lowercase(json.allowed);
  const denied = lowercase(json.denied);
  if (!hasLimit && allowed.size === 0 && denied.size === 0) return undefined;
  const atomic = maxSpendAtomic === null ? null : BigInt(maxSpendAtomic);
  return { allowed, denied, limit: hasLimit ? { period, maxRequests, maxSpendAtomic: atomic } : undefined };
}

function lowercase(wallets: readonly string[]): Set<string> {
  return new Set(wallets.map((wallet) => wallet.toLowerCase()));
}
