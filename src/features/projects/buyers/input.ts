import { z } from 'zod';
import { BuyerLimitPeriod } from '../../../generated/prisma/enums.ts';
import { parseUsd, USD_PATTERN } from '../../../money.ts';
import { walletAddressInput } from '../wallet-address.ts';

/** How many wallets each list can have. The gateway keeps them in memory. */
export const MAX_WALLETS = 1_000;
const MAX_REQUESTS = 1_000_000_000;

const wallets = z
  .array(walletAddressInput)
  .max(MAX_WALLETS, `Must have at most ${MAX_WALLETS} wallets.`)
  .transform((addresses) => [...new Set(addresses)]);

const maxSpend = z
  .string()
  .meta({ pattern: USD_PATTERN.source })
  .transform((text, context) => {
    const amount = parseUsd(text);
    if (amount !== undefined && amount > 0n) return amount;
    context.addIssue({ code: 'custom', message: 'Must be a decimal string above 0, for example, "5".' });
    return z.NEVER;
  });

/** Checks changes to a project's buyer rules. Setting a limit to null removes it. */
export const buyerRulesInput = z.strictObject({
  allowedWallets: wallets.optional(),
  deniedWallets: wallets.optional(),
  period: z.enum(BuyerLimitPeriod).optional(),
  maxRequests: z.int().min(1).max(MAX_REQUESTS).nullish(),
  maxSpendUsd: maxSpend.nullish(),
});

/** Checks the wallet to allow or deny. */
export const buyerInput = z.strictObject({ walletAddress: walletAddressInput });

export type BuyerRulesInput = {
  allowedWallets?: string[] | null | undefined;
  deniedWallets?: string[] | null | undefined;
  period?: BuyerLimitPeriod | null | undefined;
  maxRequests?: number | null | undefined;
  maxSpendUsd?: string | null | undefined;
};
