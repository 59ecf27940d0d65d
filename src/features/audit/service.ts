import type { AuditAction } from '../../audit/actions.ts';
import { requireId, visibleRecords } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import { invalidField } from '../../errors.ts';
import type { AuditEntry, Prisma } from '../../generated/prisma/client.ts';
import { typeOfId } from '../../ids.ts';

export type AuditFilter = { projectId?: string; actions?: readonly AuditAction[] | null; targetId?: string | null };
export type AuditService = ReturnType<typeof createAuditService>;

/** Who changed what. Entries are written by `recordAudit` and never changed. */
export function createAuditService({ db }: { db: Database }) {
  return {
    /**
     * Entries for one project, or for all projects the viewer can see, including deleted ones. Newest first.
     *
     * @throws AppError `VALIDATION_FAILED` if `targetId` isn't a resource ID of any type.
     */
    async list(viewer: Viewer, filter: AuditFilter, query: Prisma.AuditEntryFindManyArgs): Promise<AuditEntry[]> {
      const { projectId, actions, targetId } = filter;
      if (targetId && !typeOfId(targetId)) {
        throw invalidField('/targetId', 'Must be a resource ID: a prefix such as proj_ followed by 26 characters.');
      }
      return db.prisma.auditEntry.findMany({
        ...query,
        where: {
          AND: [
            query.where ?? {},
            visibleRecords(viewer),
            projectId ? { projectId } : {},
            actions ? { action: { in: [...actions] } } : {},
            targetId ? { targetId } : {},
          ],
        },
        orderBy: { id: 'desc' },
      });
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
}
