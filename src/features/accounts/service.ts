import type { Logger } from 'pino';
import { OPERATOR_ACTOR, recordAsOperator, recordOperatorAudit } from '../../audit/record.ts';
import { requireId, requireOperator, visibleUsers } from '../../auth/access.ts';
import { rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { lockForNoKeyUpdate } from '../../database/locks.ts';
import type { TenantDatabase, TenantTransaction } from '../../database/tenant-client.ts';
import { belongingTo, type VisibleProjectId, visibleIdOf } from '../../database/tenant-filter.ts';
import { databaseTime } from '../../database/time.ts';
import { countReplay, type ReplayFilter } from '../../delivery/replay/batch.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Prisma, User } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { parseInput } from '../../validation.ts';
import { pace } from '../replays/service.ts';
import { type AccountHealth, readHealth } from './health.ts';

export type RequeueInput = { from?: Date | null; dryRun?: boolean | null; maxPerSecond?: number | null };
/** How many deliveries will be resent, up to `MAX_COUNTED_FAILURES`, and in how many replays: one for each project that has any. */
export type Requeued = { total: number; replayCount: number };
/** Counting reads each delivery and its event, and an account can have millions of failed deliveries. */
export const MAX_COUNTED_FAILURES = 100_000;
/** A project, and how many of its deliveries will be resent. */
type Due = { projectId: VisibleProjectId; total: number };
export type AccountService = ReturnType<typeof createAccountService>;

const REQUEUED = 'user.deliveries_requeued';
const STILL_RUNNING =
  'The failed deliveries of this account are already being resent. Wait until the replays have finished.';

/** What operators do for accounts without seeing what is in them. For everyone else, accounts don't exist. */
export function createAccountService({ db, bus, log }: { db: TenantDatabase; bus: Bus; log: Logger }) {
  /**
   * The projects with deliveries to resend, and how many each has. If the account has more than are counted, the totals
   * of the remaining projects are too low, and their replays raise them.
   */
  async function countFailed(projectIds: readonly VisibleProjectId[], filter: ReplayFilter, createdAt: Date) {
    const counted: Due[] = [];
    let left = MAX_COUNTED_FAILURES;
    for (const projectId of projectIds) {
      const total = await countReplay(db.pool, { projectId, filter, createdAt }, Math.max(left, 1));
      left -= total;
      counted.push({ projectId, total });
    }
    return counted.filter(({ total }) => total > 0);
  }

  return {
    /** The accounts that need attention, the worst one first. */
    async health(viewer: Viewer, slice: { after?: string; before?: string; take: number }): Promise<AccountHealth[]> {
      requireOperator(viewer);
      return readHealth(db.pool, slice);
    },

    /**
     * Resends an account's failed deliveries, except test events, with a replay in each of its projects. They don't count
     * toward the account's daily limit.
     *
     * @throws AppError `NOT_FOUND`, `VALIDATION_FAILED`, and `CONFLICT` while earlier ones are still being resent.
     */
    async requeue(viewer: Viewer, id: string, { from, dryRun, ...rest }: RequeueInput): Promise<Requeued> {
      requireOperator(viewer);
      requireId('User', id);
      const { maxPerSecond } = parseInput(pace, rest);
      const filter: ReplayFilter = { status: ['FAILED'], test: false, ...(from && { from: from.toISOString() }) };
      const user = await db.prisma.user.findFirst({ where: { id, ...visibleUsers(viewer) } });
      if (!user) throw notFound();
      const owned = await db.prisma.project.findMany({
        where: belongingTo(user, { userId: id }),
        select: { id: true, createdAt: true },
        orderBy: { id: 'asc' },
      });
      const createdAt = await databaseTime(db.pool);
      const counted = await countFailed(owned.map(visibleIdOf), filter, createdAt);
      const total = totalOf(counted);
      if (dryRun || total === 0) return { total, replayCount: 0 };

      const creation = db.prisma.$transaction(async (tx) => {
        await lockForNoKeyUpdate(tx, 'user', id);
        const running = belongingTo(user, {
          project: { userId: id },
          startedBy: OPERATOR_ACTOR,
          status: 'RUNNING' as const,
        });
        if ((await tx.replay.count({ where: running })) > 0) throw new AppError('CONFLICT', { detail: STILL_RUNNING });
        const due = await stillOwned(tx, user, counted);
        if (due.length === 0) return due;
        for (const { projectId, total } of due) {
          const values = { id: newId('Replay'), projectId, maxPerSecond, total, startedBy: OPERATOR_ACTOR, createdAt };
          await tx.replay.create({ data: { ...values, filter: filter as Prisma.InputJsonObject } });
          const changes = { filter, total, maxPerSecond };
          await recordAsOperator(tx, id, { action: 'replay.created', projectId, targetId: values.id, changes });
        }
        const changes = { ...(filter.from && { from: filter.from }), total: totalOf(due), maxPerSecond };
        await recordOperatorAudit(tx, viewer, { action: REQUEUED, projectId: null, targetId: id, changes });
        log.info(
          { operatorId: viewer.userId, userId: id, action: REQUEUED, changes },
          'an operator changed an account',
        );
        return due;
      });
      const started = await creation.catch(rethrowProjectGone);
      bus.publish(topics.replaysDue);
      for (const { projectId } of started) bus.publish(topics.replays(projectId));
      return { total: totalOf(started), replayCount: started.length };
    },
  };
}

/** At most as many as are counted. */
function totalOf(due: readonly Due[]): number {
  return Math.min(
    due.reduce((sum, { total }) => sum + total, 0),
    MAX_COUNTED_FAILURES,
  );
}

/** Leaves out projects that were transferred or deleted while they were counted. The others stay until the transaction ends. */
async function stillOwned(tx: TenantTransaction, user: User, counted: readonly Due[]): Promise<Due[]> {
  const ids = counted.map(({ projectId }) => projectId);
  for (const projectId of ids) await lockForNoKeyUpdate(tx, 'project', projectId);
  const owned = await tx.project.findMany({
    where: belongingTo(user, { userId: user.id, id: { in: ids } }),
    select: { id: true },
  });
  return counted.filter(({ projectId }) => owned.some(({ id }) => id === projectId));
}
