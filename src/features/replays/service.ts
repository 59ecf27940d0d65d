import { z } from 'zod';
import { recordAudit } from '../../audit/record.ts';
import { inProject, visibleItem } from '../../auth/access.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { createdBetween, type Period } from '../../database/created-between.ts';
import { distinct } from '../../database/distinct.ts';
import { lockForNoKeyUpdate } from '../../database/locks.ts';
import { runWithPrisma, statement } from '../../database/statement.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import { ofProject, type VisibleProjectId } from '../../database/tenant-filter.ts';
import { databaseTime } from '../../database/time.ts';
import { countReplay, type ReplayFilter } from '../../delivery/replay/batch.ts';
import { AppError, invalidField, notFound } from '../../errors.ts';
import type { EventType } from '../../events/types.ts';
import type { DeliveryStatus, Prisma, Replay, ReplayStatus } from '../../generated/prisma/client.ts';
import { isId, newId } from '../../ids.ts';
import { parseInput } from '../../validation.ts';
import { giveBackReplayed, replayUse, takeReplayed } from './daily-limit.ts';

export type ReplayFilterInput = {
  status?: DeliveryStatus[] | null;
  eventTypes?: EventType[] | null;
  from?: Date | null;
  to?: Date | null;
  webhookId?: string | null;
  connectorId?: string | null;
  test?: boolean | null;
  deliveryIds?: readonly string[] | null;
};
/** Which replays to list. */
export type ReplayListFilter = Period & { status?: readonly ReplayStatus[] | null };
export type CreateReplayInput = {
  filter?: ReplayFilterInput | null;
  /** Whether to resend all deliveries. Required instead of a filter, so that a lost filter resends nothing. */
  all?: boolean | null;
  dryRun?: boolean | null;
  maxPerSecond?: number | null;
};
export type ReplayService = ReturnType<typeof createReplayService>;

const DEFAULT_PER_SECOND = 50;
const MAX_PER_SECOND = 1_000;
const MAX_ACTIVE = 5;
/** How many deliveries a replay can list by ID. The IDs are stored with the replay. */
const MAX_IDS = 100;
/** Checks how fast a replay is. */
export const pace = z.strictObject({
  maxPerSecond: z
    .int()
    .min(1, 'Must be at least 1.')
    .max(MAX_PER_SECOND, `Must be at most ${MAX_PER_SECOND}.`)
    .meta({ default: DEFAULT_PER_SECOND })
    .nullish()
    .transform((rate) => rate ?? DEFAULT_PER_SECOND),
});

const IDS_COUNT = `Must have 1 to ${MAX_IDS} IDs.`;
/** Checks the list of deliveries in a filter. */
export const replayFilterInput = z.object({
  deliveryIds: z.array(z.string()).min(1, IDS_COUNT).max(MAX_IDS, IDS_COUNT).nullish(),
});

const CANCEL = statement(
  'replay-cancel',
  `UPDATE "Replay" SET "status" = 'CANCELLED', "finishedAt" = now(), "updatedAt" = now()
   WHERE "id" = $1 AND "status" = 'RUNNING' RETURNING "total" - "done" - "skipped" AS "left"`,
);

/** Replays resend all deliveries that match a filter. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`. */
export function createReplayService({ db, bus }: { db: TenantDatabase; bus: Bus }) {
  return {
    async list(
      viewer: Viewer,
      projectId: string,
      { status, ...period }: ReplayListFilter,
      query: Prisma.ReplayFindManyArgs,
    ): Promise<Replay[]> {
      return db.prisma.replay.findMany({
        ...query,
        where: {
          AND: [
            await inProject(db.prisma, viewer, projectId),
            query.where ?? {},
            status ? { status: { in: distinct(status) } } : {},
            createdBetween('Replay', 'createdAt', period),
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.ReplayFindFirstArgs = {},
    ): Promise<Replay | null> {
      return db.prisma.replay.findFirst({ ...query, where: visibleItem(viewer, 'Replay', id, projectId) });
    },

    /**
     * Counts the deliveries that match the filter now, and starts the replay unless it is a dry run.
     *
     * @throws AppError `CONFLICT` while five of the project's replays are running, and `REPLAY_LIMIT_REACHED` if the
     *   project's owner has too few replayed deliveries left for the day.
     */
    async create(
      viewer: Viewer,
      projectId: string,
      input: CreateReplayInput,
    ): Promise<{ total: number; replay: Replay | null }> {
      const project = await requireProject(db.prisma, viewer, projectId);
      const { maxPerSecond } = parseInput(pace, { maxPerSecond: input.maxPerSecond });
      requireSelection(input);
      const filter = await checkFilter(project.id, input.filter ?? {});
      const createdAt = await databaseTime(db.pool);
      const total = await countReplay(db.pool, { projectId: project.id, filter, createdAt });
      if (input.dryRun) return { total, replay: null };

      const use = await replayUse(db.pool, project.id, total);
      await takeReplayed(db.pool, use);
      const startedBy = viewer.kind === 'user' ? viewer.userId : viewer.apiKeyId;
      const creation = db.prisma.$transaction(async (tx) => {
        // Without the lock, two concurrent calls could exceed the limit.
        await lockForNoKeyUpdate(tx, 'project', project.id);
        const active = await tx.replay.count({ where: { ...ofProject(project.id), status: 'RUNNING' } });
        if (active >= MAX_ACTIVE) {
          throw new AppError('CONFLICT', {
            detail: `${MAX_ACTIVE} replays are already running. Wait for one to finish, or cancel one.`,
          });
        }
        const data = {
          id: newId('Replay'),
          projectId: project.id,
          maxPerSecond,
          total,
          startedBy,
          createdAt,
          chargedAccountId: use.accountId,
          chargedLimitPerDay: use.limitPerDay,
        };
        const created = await tx.replay.create({ data: { ...data, filter: filter as Prisma.InputJsonObject } });
        await recordAudit(tx, viewer, {
          action: 'replay.created',
          projectId: project.id,
          targetId: created.id,
          changes: { filter, total, maxPerSecond },
        });
        return created;
      });
      const replay = await creation.catch(async (error) => {
        await giveBackReplayed(db.pool, use);
        return rethrowProjectGone(error);
      });
      bus.publish(topics.replaysDue);
      bus.publish(topics.replays(project.id));
      return { total, replay };
    },

    /**
     * Stops a replay. Deliveries that are already queued are sent; the rest aren't, and no longer count toward the daily
     * limit that they were counted toward. A finished replay doesn't change.
     */
    async cancel(viewer: Viewer, id: string, projectId?: string | null): Promise<Replay> {
      const where = visibleItem(viewer, 'Replay', id, projectId);
      let left = 0;
      const replay = await db.prisma.$transaction(async (tx) => {
        const found = await tx.replay.findFirst({ where });
        if (!found) throw notFound();
        const changed = await runWithPrisma<{ left: number }>(tx, CANCEL(id));
        if (changed[0]) {
          left = changed[0].left;
          await recordAudit(tx, viewer, { action: 'replay.canceled', projectId: found.projectId, targetId: id });
        }
        return tx.replay.findFirst({ where });
      });
      if (!replay) throw notFound();
      const { chargedAccountId: accountId, chargedLimitPerDay: limitPerDay } = replay;
      if (left > 0 && accountId && limitPerDay) {
        await giveBackReplayed(db.pool, { accountId, limitPerDay, amount: left });
      }
      bus.publish(topics.replays(replay.projectId));
      return replay;
    },
  };

  async function checkFilter(projectId: VisibleProjectId, input: ReplayFilterInput): Promise<ReplayFilter> {
    const { status, eventTypes, from, to, webhookId, connectorId, test, deliveryIds } = input;
    if (status?.includes('RUNNING')) {
      throw invalidField('/filter/status', 'Deliveries that are being sent cannot be replayed. Remove RUNNING.');
    }
    const isWebhook = webhookId == null || (isId('Webhook', webhookId) && (await count('webhook', webhookId)) === 1);
    if (!isWebhook) throw invalidField('/filter/webhookId', 'No such webhook in this project.');
    const isConnector =
      connectorId == null || (isId('Connector', connectorId) && (await count('connector', connectorId)) === 1);
    if (!isConnector) throw invalidField('/filter/connectorId', 'No such connector in this project.');
    return {
      ...(deliveryIds && { deliveryIds: checkDeliveryIds(deliveryIds) }),
      ...(status && { status: distinct(status) }),
      ...(eventTypes && { eventTypes: distinct(eventTypes) }),
      ...(from && { from: from.toISOString() }),
      ...(to && { to: to.toISOString() }),
      ...(webhookId != null && { webhookId }),
      ...(connectorId != null && { connectorId }),
      ...(test != null && { test }),
    };

    function count(kind: 'webhook' | 'connector', id: string): Promise<number> {
      const where = { ...ofProject(projectId), id };
      return kind === 'webhook' ? db.prisma.webhook.count({ where }) : db.prisma.connector.count({ where });
    }
  }
}

/** @throws AppError `VALIDATION_FAILED` unless there is either a condition in the filter or `all`. */
function requireSelection({ filter, all }: CreateReplayInput): void {
  const hasCondition = Object.values(filter ?? {}).some((condition) => condition != null);
  if (hasCondition && all) throw invalidField('/all', 'Omit this field, or omit `filter`.');
  if (!hasCondition && !all)
    throw invalidField('/filter', 'Required. To resend all deliveries, set `all` to true instead.');
}

/**
 * IDs of deliveries that don't exist match nothing. They aren't rejected, because a delivery can reach the end of its
 * retention period at any time.
 */
function checkDeliveryIds(given: readonly string[]): string[] {
  parseInput(replayFilterInput, { deliveryIds: given }, '/filter');
  const mistaken = given.findIndex((id) => !isId('Delivery', id));
  if (mistaken !== -1) throw invalidField(`/filter/deliveryIds/${mistaken}`, 'Must be the ID of a delivery, `dlv_…`.');
  return [...new Set(given)];
}
