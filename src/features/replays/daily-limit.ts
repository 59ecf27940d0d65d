import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { VisibleProjectId } from '../../database/tenant-filter.ts';
import { AppError } from '../../errors.ts';
import { type DayUse, giveBackOfDay, leftOfDay, takeOfDay } from '../../limits/day-limit.ts';
import { TIERS, type Tier } from '../../limits/tiers.ts';

/** What a replay uses of an account's daily limit. */
export type ReplayUse = { accountId: string; limitPerDay: number; amount: number };

const dayUseOf = ({ accountId, ...use }: ReplayUse): DayUse => ({ key: `replayed-deliveries ${accountId}`, ...use });

const READ_OWNER = statement(
  'replay-owner',
  `SELECT u."id" AS "accountId", u."tier" FROM "Project" p JOIN "User" u ON u."id" = p."userId" WHERE p."id" = $1`,
);

/** How much of the project owner's daily limit a replay of this many deliveries uses. */
export async function replayUse(db: Queryable, projectId: VisibleProjectId, amount: number): Promise<ReplayUse> {
  const { rows } = await runStatement<{ accountId: string; tier: Tier }>(db, READ_OWNER(projectId));
  const { accountId, tier } = rows[0] ?? { accountId: '', tier: 'STARTER' };
  return { accountId, limitPerDay: TIERS[tier].maxReplayedPerDay, amount };
}

/** Undoes the count of deliveries that a replay won't resend. */
export function giveBackReplayed(db: Queryable, use: ReplayUse): Promise<void> {
  return giveBackOfDay(db, dayUseOf(use));
}

/**
 * Counts a replay toward the daily limit. Without it, one account could fill the disk with attempts.
 *
 * @throws AppError `REPLAY_LIMIT_REACHED` if too few deliveries are left.
 */
export async function takeReplayed(db: Queryable, use: ReplayUse): Promise<void> {
  if (await takeOfDay(db, dayUseOf(use))) return;
  const left = await leftOfDay(db, dayUseOf(use));
  throw new AppError('REPLAY_LIMIT_REACHED', {
    detail:
      `The tier of the project’s owner includes ${use.limitPerDay} replayed deliveries per day, of which ${left} are left, ` +
      `and this replay has ${use.amount}. Narrow the filter, or wait: the limit refills evenly over 24 hours.`,
  });
}
