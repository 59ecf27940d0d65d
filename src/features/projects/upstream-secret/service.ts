import { recordAudit } from '../../../audit/record.ts';
import { visibleProject } from '../../../auth/access.ts';
import { lockProject } from '../../../auth/lock-project.ts';
import { hasPermission } from '../../../auth/require-permission.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { type Bus, topics } from '../../../bus/bus.ts';
import { sharedNow } from '../../../clock.ts';
import type { TenantDatabase } from '../../../database/tenant-client.ts';
import { sameRow } from '../../../database/tenant-filter.ts';
import type { Project } from '../../../generated/prisma/client.ts';
import { parseInput } from '../../../validation.ts';
import { overlapEnd, overlapInput } from '../../rotation/overlap.ts';

export type UpstreamSecretService = ReturnType<typeof createUpstreamSecretService>;

/** A project and which of its secrets is the current one. */
type SecretVersion = Pick<Project, 'id' | 'upstreamSecretVersion'>;

/**
 * The secret that an upstream uses to verify that a request came through the gateway. Methods throw AppError
 * `NOT_FOUND` and `VALIDATION_FAILED`.
 */
export function createUpstreamSecretService(options: {
  db: TenantDatabase;
  bus: Bus;
  /** A project's current secret, which signs the gateway's requests to upstreams. */
  secretOf(project: SecretVersion): string;
}) {
  const { db, bus, secretOf } = options;
  return {
    /** A project's secret, `whsec_…`. Null for API keys, and for people who can't change it. */
    read(viewer: Viewer, project: SecretVersion): string | null {
      return viewer.kind === 'user' && hasPermission(viewer, project.id, 'CREDENTIALS') ? secretOf(project) : null;
    },

    /** Replaces the secret. For `overlapHours` (default 24), requests are also signed with the old one. */
    async rotate(viewer: Viewer, projectId: string, input: { overlapHours?: number | null }): Promise<Project> {
      const where = visibleProject(viewer, projectId);
      const { overlapHours } = parseInput(overlapInput, input);
      const project = await db.prisma.$transaction(async (tx) => {
        const before = await lockProject(tx, where, projectId, viewer);
        await recordAudit(tx, viewer, {
          action: 'project.upstream_secret_rotated',
          projectId,
          targetId: projectId,
          changes: { overlapHours },
        });
        return tx.project.update({
          where: sameRow(before),
          data: {
            updatedAt: new Date(sharedNow()),
            upstreamSecretVersion: before.upstreamSecretVersion + 1,
            previousUpstreamSecretExpiresAt: overlapEnd(overlapHours),
          },
        });
      });
      bus.publishHereFirst(topics.routes(projectId));
      return project;
    },
  };
}
