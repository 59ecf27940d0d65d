import { z } from 'zod';
import { formatUsd, parseUsd, USD_PATTERN } from '../../money.ts';

const MAX_MILESTONES = 50;

/** Converts spending milestones from decimal USD strings to unique, ascending amounts in millionths of a dollar. */
export const milestonesInput = z
  .array(
    z
      .string()
      .meta({ pattern: USD_PATTERN.source })
      .transform((text, context) => {
        const amount = parseUsd(text);
        if (amount !== undefined && amount > 0n) return amount;
        context.addIssue({ code: 'custom', message: 'Must be a decimal string above 0, for example, "100".' });
        return z.NEVER;
      }),
  )
  .max(MAX_MILESTONES, `Must have at most ${MAX_MILESTONES} milestones.`)
  .transform((amounts) => [...new Set(amounts)].sort((a, b) => (a < b ? -1 : 1)));

/** Stored milestones as decimal USD strings, ascending. */
export function milestonesUsdOf(project: { milestonesAtomic: readonly { toFixed(decimals: 0): string }[] }): string[] {
  return project.milestonesAtomic.map((amount) => formatUsd(BigInt(amount.toFixed(0))));
}
