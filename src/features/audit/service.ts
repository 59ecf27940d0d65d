import { z } from 'zod';
import { type AuditAction, storedAction } from '../../audit/actions.ts';
import { recordAudit } from '../../audit/record.ts';
import { madeBy, ownRecords, requireId, visibleRecords } from '../../auth/access.ts';
import { requireProject } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { sharedNow } from '../../clock.ts';
import { createdBetween, type Period } from '../../database/created-between.ts';
import { distinct } from '../../database/distinct.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import { AppError, invalidField } from '../../errors.ts';
import type { AuditEntry, Prisma } from '../../generated/prisma/client.ts';
import { firstIdAt, type IdType, millisecondsOfId, typeOfId } from '../../ids.ts';
import { type Nullable, parseInput } from '../../validation.ts';

const MAX_ARGUMENTS_CHARACTERS = 2_000;
/**
 * Entries are kept forever, and even viewers can add entries for tool calls. An agent that calls a tool every four
 * seconds stays below this limit.
 */
const MAX_TOOL_CALLS_PER_HOUR = 1_000;
const HOUR_MILLISECONDS = 3_600_000;

/** Checks a reported tool call. */
export const toolCallInput = z.strictObject({
  tool: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'Must be 1 to 64 lowercase letters, digits, and underscores.'),
  arguments: z
    .record(z.string(), z.unknown(), 'Must be a JSON object.')
    .meta({ component: 'ToolCallArguments' })
    .refine(
      (values) => JSON.stringify(values).length <= MAX_ARGUMENTS_CHARACTERS,
      `Must be at most ${MAX_ARGUMENTS_CHARACTERS.toLocaleString('en')} characters as JSON.`,
    )
    .nullish()
    .transform((values) => values ?? {}),
});
type ToolCallInput = { tool: string } & Nullable<{ arguments: unknown }>;

export type AuditFilter = Period & {
  projectId?: string;
  actions?: readonly AuditAction[] | null;
  targetId?: string | null;
  /** The user or API key that made the changes. */
  actorId?: string | null;
  /** Only entries that belong to no project. */
  isOfAccount?: boolean;
};
export type AuditService = ReturnType<typeof createAuditService>;

const ACTORS: ReadonlySet<IdType | undefined> = new Set(['User', 'ApiKey'] as const);

/** Who changed what. Entries are written by `recordAudit` and never changed. */
export function createAuditService({ db }: { db: TenantDatabase }) {
  return {
    /**
     * Entries for one project, for all of the account's projects (including deleted ones), or about the account itself.
     * Newest first.
     *
     * @throws AppError `VALIDATION_FAILED` if `targetId` or `actorId` isn't an ID.
     */
    async list(viewer: Viewer, filter: AuditFilter, query: Prisma.AuditEntryFindManyArgs): Promise<AuditEntry[]> {
      const { projectId, actions, targetId, actorId, isOfAccount, from, to } = filter;
      if (targetId && !typeOfId(targetId)) {
        throw invalidField('/targetId', 'Must be a resource ID: a prefix such as proj_ followed by 26 characters.');
      }
      if (actorId && !ACTORS.has(typeOfId(actorId))) {
        throw invalidField('/actorId', 'Must be the ID of a user (usr_) or an API key (key_).');
      }
      return db.prisma.auditEntry.findMany({
        ...query,
        where: {
          AND: [
            projectId ? { projectId, ...visibleRecords(viewer) } : ownRecords(viewer),
            query.where ?? {},
            isOfAccount ? { projectId: null } : {},
            actions ? { action: { in: distinct(actions.map(storedAction)) } } : {},
            targetId ? { targetId } : {},
            actorId ? { actorId } : {},
            createdBetween('AuditEntry', 'createdAt', { from, to }),
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    /**
     * Records that a program is about to call a tool, whether or not the call changes anything. Changes have their own
     * entries. Everyone who can use the project may do this, because a program that can only read must be able to
     * record its own calls. The entry says who sent it, and is marked as a report.
     *
     * @throws AppError `NOT_FOUND`, `VALIDATION_FAILED` if the arguments are too long, or `RATE_LIMITED` for too many calls.
     */
    async recordToolCall(viewer: Viewer, projectId: string, input: ToolCallInput): Promise<{ tool: string }> {
      const changes = parseInput(toolCallInput, input);
      await requireProject(db.prisma, viewer, projectId);
      await requirePace(viewer, projectId);
      await recordAudit(db.prisma, viewer, { action: 'mcp.tool_called', projectId, targetId: projectId, changes });
      return changes;
    },

    /** One of a project's entries. Throws AppError `NOT_FOUND` if `id` isn't an entry's ID. */
    find(
      viewer: Viewer,
      id: string,
      projectId: string,
      query: Prisma.AuditEntryFindFirstArgs = {},
    ): Promise<AuditEntry | null> {
      const where = { id: requireId('AuditEntry', id), projectId, ...visibleRecords(viewer) };
      return db.prisma.auditEntry.findFirst({ ...query, where });
    },
  };

  /** Concurrent calls may exceed the limit by a few. */
  async function requirePace(viewer: Viewer, projectId: string): Promise<void> {
    const since = sharedNow() - HOUR_MILLISECONDS;
    const oldest = await db.prisma.auditEntry.findFirst({
      where: { ...madeBy(viewer, projectId), action: 'mcp.tool_called', id: { gte: firstIdAt('AuditEntry', since) } },
      orderBy: { id: 'desc' },
      skip: MAX_TOOL_CALLS_PER_HOUR - 1,
      select: { id: true },
    });
    if (!oldest) return;
    throw new AppError('RATE_LIMITED', {
      detail: `You can record up to ${MAX_TOOL_CALLS_PER_HOUR.toLocaleString('en')} tool calls per project per hour. Wait for the number of seconds in \`Retry-After\`.`,
      retryAfterSeconds: Math.max(1, Math.ceil((millisecondsOfId(oldest.id) - since) / 1000)),
    });
  }
}
