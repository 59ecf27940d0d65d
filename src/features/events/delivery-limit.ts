import type { Viewer } from '../../auth/viewer.ts';
import type { Queryable } from '../../database/client.ts';
import { AppError } from '../../errors.ts';
import { DAY_SECONDS, type DayUse, takeForChange } from '../../limits/day-limit.ts';
import { TIERS } from '../../limits/tiers.ts';

/** Up to this many deliveries take about as much space as the rest of a change, and aren't counted. */
const FEW = 3;

/**
 * Counts the deliveries that a change is about to write toward the account's daily limit. Each change counts as one
 * request, no matter how many webhooks get its event. Without this limit, one account could fill the disk. If nothing counts,
 * there is no statement.
 *
 * @returns handles the change's error: undoes the count if nothing was written, and throws the error.
 * @throws AppError `RATE_LIMITED` if too little is left.
 */
export async function takeDeliveries(
  db: Queryable,
  { userId, tier }: Pick<Viewer, 'userId' | 'tier'>,
  deliveries: number,
): Promise<(error: unknown) => Promise<never>> {
  const use = {
    key: `change-deliveries ${userId}`,
    limitPerDay: TIERS[tier].maxChangeDeliveriesPerDay,
    amount: deliveries > FEW ? deliveries : 0,
  };
  return takeForChange(db, use, (left) => limitReached(use, left));
}

function limitReached({ limitPerDay, amount }: DayUse, left: number): AppError {
  return new AppError('RATE_LIMITED', {
    detail:
      `Your tier includes ${limitPerDay.toLocaleString('en')} deliveries of changes to endpoints per day, and this change ` +
      'needs more than are left. Wait for the number of seconds in `Retry-After`: the limit refills evenly over 24 hours.',
    retryAfterSeconds: Math.max(1, Math.ceil(((amount - left) / limitPerDay) * DAY_SECONDS)),
  });
}
