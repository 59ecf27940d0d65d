import { z } from 'zod';
import { recordAudit } from '../../audit/record.ts';
import { isVisible, requireUser, visibleItem } from '../../auth/access.ts';
import { apiKeyHashes, newApiKey } from '../../auth/api-keys.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database } from '../../database/client.ts';
import { createPages, type PageQuery } from '../../database/pages.ts';
import { notFound } from '../../errors.ts';
import type { ApiKey, KeyEnvironment, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import type { Keyring } from '../../secrets/keyring.ts';
import { lineOfText, parseInput } from '../../validation.ts';

const createInput = z.strictObject({
  name: lineOfText(200),
  environment: z.enum(['LIVE', 'TEST']).nullish(),
});

export type CreateApiKeyInput = { name: string; environment?: KeyEnvironment | null };
export type ApiKeyService = ReturnType<typeof createApiKeyService>;

/** A project's API keys. Only users can create and revoke them; API keys get `FORBIDDEN`. */
export function createApiKeyService(options: { db: Database; bus: Bus; keyring: Keyring; production: boolean }) {
  const { db, bus, keyring } = options;
  const pages = createPages({
    db: db.pool,
    table: 'ApiKey',
    condition: '"revokedAt" IS NULL',
    find: (query: Omit<Prisma.ApiKeyFindManyArgs, 'where' | 'take'>, { where, ...which }) =>
      db.prisma.apiKey.findMany({
        ...query,
        ...which,
        where: { AND: [where, { revokedAt: null }] },
        orderBy: { id: 'desc' },
      }),
  });

  return {
    async list(viewer: Viewer, projectId: string, query: Prisma.ApiKeyFindManyArgs & PageQuery): Promise<ApiKey[]> {
      return (await isVisible(db.prisma, viewer, projectId)) ? pages.load(viewer, projectId, query) : [];
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.ApiKeyFindFirstArgs = {},
    ): Promise<ApiKey | null> {
      return db.prisma.apiKey.findFirst({ ...query, where: usable(viewer, id, projectId) });
    },

    /** Creates a key. `key` is its full value, which isn't stored and can't be read again. */
    async create(
      viewer: Viewer,
      projectId: string,
      input: CreateApiKeyInput,
    ): Promise<{ apiKey: ApiKey; key: string }> {
      requireUser(viewer);
      const project = await requireProject(db.prisma, viewer, projectId);
      const { name, environment } = parseInput(createInput, input);
      const chosen = environment ?? (options.production ? 'LIVE' : 'TEST');
      const key = newApiKey(chosen);
      const hash = apiKeyHashes(key, keyring)[0]!;
      const values = { projectId: project.id, name, environment: chosen, hash, last4: key.slice(-4) };
      const apiKey = await db.prisma
        .$transaction(async (tx) => {
          const created = await tx.apiKey.create({ data: { id: newId('ApiKey'), ...values } });
          const target = { projectId: project.id, targetId: created.id };
          await recordAudit(tx, viewer, {
            action: 'api_key.created',
            ...target,
            changes: { name, environment: chosen },
          });
          return created;
        })
        .catch(rethrowProjectGone);
      return { apiKey, key };
    },

    /** Revokes a key permanently. Requests after the commit are rejected, and open sockets are closed immediately. */
    async revoke(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      requireUser(viewer);
      await db.prisma.$transaction(async (tx) => {
        const [revoked] = await tx.apiKey.updateManyAndReturn({
          where: usable(viewer, id, projectId),
          data: { revokedAt: new Date(sharedNow()) },
        });
        if (!revoked) throw notFound();
        const changes = { name: revoked.name };
        await recordAudit(tx, viewer, {
          action: 'api_key.revoked',
          projectId: revoked.projectId,
          targetId: id,
          changes,
        });
      });
      bus.publish(topics.apiKeyRevoked(id));
    },
  };
}

function usable(viewer: Viewer, id: string, projectId?: string | null): Prisma.ApiKeyWhereInput {
  return { ...visibleItem(viewer, 'ApiKey', id, projectId), revokedAt: null };
}
