import type { Logger } from 'pino';
import { z } from 'zod';
import { changesBetween } from '../../audit/diff.ts';
import { recordOperatorAudit } from '../../audit/record.ts';
import { isOperator, requireId, requireOperator, visibleUsers } from '../../auth/access.ts';
import { isListed, type Operator } from '../../auth/operators.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import { createdBetween } from '../../database/created-between.ts';
import { distinct } from '../../database/distinct.ts';
import { lockForNoKeyUpdate } from '../../database/locks.ts';
import { asReference } from '../../database/reference.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import { type TenantDatabase, type TenantTransaction, unfiltered } from '../../database/tenant-client.ts';
import { sameRow } from '../../database/tenant-filter.ts';
import { AppError, invalidField, notFound } from '../../errors.ts';
import type { Prisma, Tier, TierSetter, User } from '../../generated/prisma/client.ts';
import { TIERS } from '../../limits/tiers.ts';
import { lineOfText, parseInput } from '../../validation.ts';
import { userChanges } from './input.ts';

const filterInput = z.strictObject({
  issuer: z.string().nullish(),
  subject: z.string().nullish(),
  tiers: z.array(z.enum(Object.keys(TIERS) as Tier[])).nullish(),
  isBlocked: z.boolean().nullish(),
  from: z.date().nullish(),
  to: z.date().nullish(),
});
/** Checks the input for blocking a user. */
export const blockInput = z.strictObject({ reason: lineOfText(500) });

export type UserFilter = z.input<typeof filterInput>;
export type UpdateUserInput = {
  tier?: Tier | null;
  requestsPerMinute?: number | null;
  tierSetBy?: TierSetter | null;
};
/** How many resources an account has. `waitingDeliveryCount` stops at `MAX_COUNTED_DELIVERIES`. */
export type UserUsage = { projectCount: number; connectorCount: number; waitingDeliveryCount: number };
export type OperatorService = ReturnType<typeof createOperatorService>;

/** An account can have millions of deliveries. */
export const MAX_COUNTED_DELIVERIES = 1_000;

/**
 * Users' accounts, for operators only. For everyone else, methods that make changes throw `NOT_FOUND`, and methods that
 * read find nothing.
 */
export function createOperatorService(options: {
  db: TenantDatabase;
  bus: Bus;
  operators: readonly Operator[];
  log: Logger;
}) {
  const { db, bus, operators, log } = options;

  /** Locks and changes a user's row, and writes to the audit log if something changed. */
  async function change(
    viewer: Viewer,
    id: string,
    action: 'user.updated' | 'user.blocked' | 'user.unblocked',
    newValues: (before: User) => Prisma.UserUpdateInput,
  ): Promise<User> {
    requireOperator(viewer);
    requireId('User', id);
    return db.prisma.$transaction(async (tx) => {
      const before = await lockUser(tx, viewer, id);
      const after = await tx.user.update({ where: sameRow(before), data: newValues(before) });
      const { changes, previous } = changesBetween(auditedOf(before), auditedOf(after));
      if (Object.keys(changes).length === 0) return after;
      const values = action === 'user.updated' ? { changes, previous: previous! } : { changes };
      await recordOperatorAudit(tx, viewer, { action, projectId: null, targetId: id, ...values });
      log.info({ operatorId: viewer.userId, userId: id, action, ...values }, 'an operator changed an account');
      return after;
    });
  }

  /** Makes gateways reload the user's endpoints. */
  async function announceRoutes(userId: string): Promise<void> {
    const projects = await unfiltered(db.prisma).project.findMany({ where: { userId }, select: { id: true } });
    for (const project of projects) bus.publishHereFirst(topics.routes(project.id));
  }

  /** Ends the open streams of members of the user's projects, because the members lose or regain access. */
  async function announceMemberships(userId: string): Promise<void> {
    const where = { project: { userId } };
    const members = await unfiltered(db.prisma).projectMember.findMany({
      where,
      select: { userId: true },
      distinct: ['userId'],
    });
    for (const member of members) bus.publishHereFirst(topics.membershipsChanged(member.userId));
  }

  return {
    /** Newest first. @throws AppError `VALIDATION_FAILED` for text that can't be stored. */
    async list(viewer: Viewer, filter: UserFilter, query: Prisma.UserFindManyArgs): Promise<User[]> {
      const { issuer, subject, tiers, isBlocked, ...period } = parseInput(filterInput, filter);
      return db.prisma.user.findMany({
        ...query,
        where: {
          AND: [
            visibleUsers(viewer),
            query.where ?? {},
            issuer == null ? {} : { issuer },
            subject == null ? {} : { subject },
            tiers ? { tier: { in: distinct(tiers) } } : {},
            isBlocked == null ? {} : { blockedAt: isBlocked ? { not: null } : null },
            createdBetween('User', 'createdAt', period),
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    async find(viewer: Viewer, id: string): Promise<User | null> {
      requireId('User', id);
      if (!isOperator(viewer)) return null;
      return db.prisma.user.findFirst({ where: { id, ...visibleUsers(viewer) } });
    },

    /** Whether the user is also an operator. */
    isOperator: (user: Pick<User, 'issuer' | 'subject'>): boolean => isListed(operators, user),

    async usage(viewer: Viewer, userId: string): Promise<UserUsage> {
      requireOperator(viewer);
      const { rows } = await runStatement<UserUsage>(db.pool, USAGE(userId, MAX_COUNTED_DELIVERIES));
      return rows[0]!;
    },

    /**
     * Changes the tier and the rate limit. From then on, tokens don't change them, unless `tierSetBy` is set back to
     * `ISSUER`.
     *
     * @throws AppError `NOT_FOUND`, and `VALIDATION_FAILED` for a rate limit on any tier except ENTERPRISE.
     */
    async update(viewer: Viewer, id: string, input: UpdateUserInput): Promise<User> {
      requireOperator(viewer);
      const { tier: newTier, requestsPerMinute: rate, tierSetBy = 'OPERATOR' } = parseInput(userChanges, input);
      return change(viewer, id, 'user.updated', (before) => {
        const tier = newTier ?? before.tier;
        const isCustom = tier === 'ENTERPRISE';
        if (rate != null && !isCustom) throw invalidField('/requestsPerMinute', ONLY_ENTERPRISE);
        const requestsPerMinute = isCustom ? (rate === undefined ? before.requestsPerMinute : rate) : null;
        return { tier, requestsPerMinute, tierSetBy };
      });
    },

    /**
     * Blocks an account in all processes, or changes the reason. Payments in progress are settled, and deliveries
     * continue. Members lose access to its projects.
     *
     * @throws AppError `NOT_FOUND`, `VALIDATION_FAILED`, and `CONFLICT` for operators.
     */
    async block(viewer: Viewer, id: string, input: { reason: string }): Promise<User> {
      requireOperator(viewer);
      const { reason } = parseInput(blockInput, input);
      const user = await change(viewer, id, 'user.blocked', (before) => {
        if (isListed(operators, before)) throw new AppError('CONFLICT', { detail: OPERATORS_STAY });
        return { blockedAt: before.blockedAt ?? new Date(sharedNow()), blockedReason: reason };
      });
      bus.publishHereFirst(topics.accountBlocked(id));
      await announceRoutes(id);
      await announceMemberships(id);
      return user;
    },

    /** Undoes `block`. @throws AppError `NOT_FOUND` */
    async unblock(viewer: Viewer, id: string): Promise<User> {
      const user = await change(viewer, id, 'user.unblocked', () => ({ blockedAt: null, blockedReason: null }));
      await announceRoutes(id);
      await announceMemberships(id);
      return user;
    },
  };
}

const ONLY_ENTERPRISE = 'Only ENTERPRISE accounts can have a custom rate limit.';
const OPERATORS_STAY = 'This user is an operator. Remove them from OPERATORS first.';

async function lockUser(tx: TenantTransaction, viewer: Viewer, id: string): Promise<User> {
  // If two changes are concurrent, each must record the values it actually replaced.
  await lockForNoKeyUpdate(tx, 'user', id);
  const user = await tx.user.findFirst({ where: { id, ...visibleUsers(viewer) } });
  if (!user) throw notFound();
  return user;
}

const auditedOf = ({ tier, requestsPerMinute, tierSetBy, blockedReason }: User) => ({
  tier,
  requestsPerMinute,
  tierSetBy,
  reason: blockedReason,
});

const USAGE = preparedStatement(
  'usage-of-user',
  `
  SELECT (SELECT count(*)::int FROM "Project" WHERE "userId" = $1) AS "projectCount",
    (SELECT count(*)::int FROM "Project" p JOIN "Connector" c ON c."projectId" = ${asReference('p."id"')} WHERE p."userId" = $1)
      AS "connectorCount",
    (SELECT count(*)::int FROM (
      SELECT 1 FROM "Project" p JOIN "Delivery" d ON d."projectId" = ${asReference('p."id"')}
       WHERE p."userId" = $1 AND d."outcome" IS NULL LIMIT $2
    ) waiting) AS "waitingDeliveryCount"`,
);
