import { changesBetween } from '../../../audit/diff.ts';
import { recordAudit } from '../../../audit/record.ts';
import type { Values } from '../../../audit/value-sizes.ts';
import { inVisibleProject, visibleProject } from '../../../auth/access.ts';
import { lockProject } from '../../../auth/lock-project.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { type Bus, topics } from '../../../bus/bus.ts';
import { sharedNow } from '../../../clock.ts';
import { createLookups } from '../../../database/lookups.ts';
import type { TenantDatabase } from '../../../database/tenant-client.ts';
import { belongingTo } from '../../../database/tenant-filter.ts';
import { invalidField } from '../../../errors.ts';
import { formatUsd } from '../../../money.ts';
import { parseInput } from '../../../validation.ts';
import { type BuyerRulesInput, buyerInput, buyerRulesInput, MAX_WALLETS } from './input.ts';
import { NO_RULES, type RuleValues } from './rules.ts';

export type BuyerRuleService = ReturnType<typeof createBuyerRuleService>;

type Change = (before: RuleValues) => Partial<Omit<RuleValues, 'maxSpendAtomic'>> & {
  maxSpendAtomic?: string | null | undefined;
};

/** Changes which wallets may pay a project, and how much. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`. */
export function createBuyerRuleService({ db, bus }: { db: TenantDatabase; bus: Bus }) {
  async function change(viewer: Viewer, projectId: string, changed: Change): Promise<RuleValues> {
    const where = visibleProject(viewer, projectId);
    const rules = await db.prisma.$transaction(async (tx) => {
      // The gateway's list is the result of all changes, so concurrent ones must not undo each other.
      const project = await lockProject(tx, where, projectId, viewer);
      const ofProject = belongingTo(project, { projectId });
      const stored = await tx.buyerRules.findFirst({ where: ofProject });
      const before = stored ?? NO_RULES;
      const data = { ...changed(before), updatedAt: new Date(sharedNow()) };
      const after = stored
        ? await tx.buyerRules.update({ where: ofProject, data })
        : await tx.buyerRules.create({ data: { ...NO_RULES, ...data, projectId: project.id } });
      const { changes, previous } = changesBetween(limitsOf(before), limitsOf(after));
      await recordAudit(tx, viewer, {
        action: 'project.updated',
        projectId,
        targetId: projectId,
        changes: { ...walletChanges(before, after), ...changes },
        previous: previous ?? {},
      });
      return after;
    });
    bus.publishHereFirst(topics.routes(projectId));
    return rules;
  }

  const rulesOf = createLookups(async (viewer: Viewer, projectIds: string[]) => {
    const where = { projectId: { in: projectIds }, ...inVisibleProject(viewer) };
    const found = await db.prisma.buyerRules.findMany({ where });
    return found.map((rules) => ({ ...rules, id: rules.projectId }));
  });

  return {
    /** A visible project's rules. Those of several projects are read with one statement. */
    async find(viewer: Viewer, projectId: string): Promise<RuleValues> {
      return (await rulesOf(viewer, projectId, {})) ?? NO_RULES;
    },

    /** Replaces the given lists and limits. */
    async update(viewer: Viewer, projectId: string, input: BuyerRulesInput): Promise<RuleValues> {
      const { maxSpendUsd, ...rest } = parseInput(buyerRulesInput, input);
      const spend = maxSpendUsd === undefined ? {} : { maxSpendAtomic: maxSpendUsd?.toString() ?? null };
      return change(viewer, projectId, () => ({ ...rest, ...spend }));
    },

    /** Adds a wallet to the denied ones. */
    async deny(viewer: Viewer, projectId: string, input: { walletAddress: string }): Promise<RuleValues> {
      const { walletAddress } = parseInput(buyerInput, input);
      return change(viewer, projectId, ({ deniedWallets }) => ({ deniedWallets: added(deniedWallets, walletAddress) }));
    },

    /** Removes a wallet from the denied ones and, if only some wallets may pay, makes it one of them. */
    async allow(viewer: Viewer, projectId: string, input: { walletAddress: string }): Promise<RuleValues> {
      const { walletAddress } = parseInput(buyerInput, input);
      return change(viewer, projectId, ({ allowedWallets, deniedWallets }) => ({
        deniedWallets: deniedWallets.filter((wallet) => wallet !== walletAddress),
        ...(allowedWallets.length > 0 && { allowedWallets: added(allowedWallets, walletAddress) }),
      }));
    },
  };
}

/** A project's limit on what a wallet may spend, in USD. */
export function maxSpendUsdOf({ maxSpendAtomic }: Pick<RuleValues, 'maxSpendAtomic'>): string | null {
  return maxSpendAtomic && formatUsd(BigInt(maxSpendAtomic.toFixed(0)));
}

function added(wallets: readonly string[], wallet: string): string[] {
  if (wallets.includes(wallet)) return [...wallets];
  if (wallets.length < MAX_WALLETS) return [...wallets, wallet];
  throw invalidField('/walletAddress', `The list already has ${MAX_WALLETS} wallets, which is the maximum.`);
}

/** Only what was added and removed: the log keeps large values only as a hash. */
function walletChanges(before: RuleValues, after: RuleValues): Values {
  const lists = ['allowedWallets', 'deniedWallets'] as const;
  return Object.fromEntries(
    lists.flatMap((list) => [
      [`${list}Added`, missingIn(after[list], before[list])],
      [`${list}Removed`, missingIn(before[list], after[list])],
    ]),
  );
}

/** Undefined, which the log leaves out, if none are missing. */
function missingIn(these: readonly string[], those: readonly string[]): string[] | undefined {
  const known = new Set(those);
  const missing = these.filter((wallet) => !known.has(wallet));
  return missing.length > 0 ? missing : undefined;
}

function limitsOf(rules: RuleValues): Values {
  const { period, maxRequests } = rules;
  return { period, maxRequests, maxSpendUsd: maxSpendUsdOf(rules) };
}
