import type { BuyerUsage } from '../../features/payments/steps/count.ts';
import type { BuyerLimit, BuyerRules } from '../../features/projects/buyers/rules.ts';
import { formatUsd } from '../../money.ts';

/** Why a payment is refused: its wallet is denied, isn't among the allowed ones, or has reached the limit. */
const BUYER_DENIED = 'buyer_denied';
const BUYER_NOT_ALLOWED = 'buyer_not_allowed';
export const BUYER_LIMIT_REACHED = 'buyer_limit_reached';

/** The name of the x402 extension that describes the rules. */
const NAME = 'tollgate-buyer-rules';

/** @returns the reason if a wallet (in lowercase) may not pay. */
export function refusedBuyer(rules: BuyerRules | undefined, payer: string): string | undefined {
  if (!rules) return undefined;
  if (rules.denied.has(payer)) return BUYER_DENIED;
  return rules.allowed.size > 0 && !rules.allowed.has(payer) ? BUYER_NOT_ALLOWED : undefined;
}

/**
 * The x402 extension for the 402 responses of a project with rules, or an empty object for any other project. Clients
 * ignore extensions that they don't know.
 *
 * @param usage what the buyer has used of the limit, if the limit is why the payment is refused.
 */
export function buyerRulesExtension(rules: BuyerRules | undefined, usage?: BuyerUsage): object {
  if (!rules) return {};
  const { allowed, denied, limit } = rules;
  const info = {
    hasAllowedWallets: allowed.size > 0,
    hasDeniedWallets: denied.size > 0,
    ...(limit && infoOf(limit)),
    ...(usage && {
      requestCount: usage.requestCount,
      spentUsd: formatUsd(usage.spentAtomic),
      resetsAt: usage.resetsAt.toISOString(),
    }),
  };
  return { [NAME]: { info, schema: { type: 'object' } } };
}

function infoOf({ period, maxRequests, maxSpendAtomic }: BuyerLimit) {
  return {
    period,
    ...(maxRequests !== null && { maxRequests }),
    ...(maxSpendAtomic !== null && { maxSpendUsd: formatUsd(maxSpendAtomic) }),
  };
}

/** The rules in words, for clients that don't read extensions. */
export function buyerRulesText({ allowed, limit }: BuyerRules): string {
  const sentences = [
    ...(allowed.size > 0 ? ['Only wallets that the seller has allowed can pay.'] : []),
    ...(limit ? [`Each wallet can ${limitText(limit)}.`] : []),
  ];
  return sentences.join(' ');
}

/** A limit in words, for example, `make 100 requests and spend 5 USD per day (UTC)`. */
export function limitText({ period, maxRequests, maxSpendAtomic }: BuyerLimit): string {
  const parts = [
    ...(maxRequests === null ? [] : [`make ${maxRequests} ${maxRequests === 1 ? 'request' : 'requests'}`]),
    ...(maxSpendAtomic === null ? [] : [`spend ${formatUsd(maxSpendAtomic)} USD`]),
  ];
  return `${parts.join(' and ')} per ${period.toLowerCase()} (UTC)`;
}
