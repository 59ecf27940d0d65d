import { z } from 'zod';
import { recordAudit } from '../../audit/record.ts';
import { requireId, visibleItem, visibleProjectId } from '../../auth/access.ts';
import { normalizeAllowedAddress } from '../../auth/allowed-addresses.ts';
import { apiKeyHashes, newApiKey } from '../../auth/api-keys.ts';
import { lockToManage } from '../../auth/lock-project.ts';
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../../auth/permissions.ts';
import { grantsProtected, type RequireRecentSignIn } from '../../auth/recent-sign-in.ts';
import { rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import { createdBetween, type Period } from '../../database/created-between.ts';
import { createPages, type PageQuery, pageStatements } from '../../database/pages.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import { notFound } from '../../errors.ts';
import type { Network } from '../../gateway/chain/networks.ts';
import { modeOn } from '../../gateway/chain/served-networks.ts';
import type { ApiKey, KeyEnvironment, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import type { Keyring } from '../../secrets/keyring.ts';
import { lineOfText, parseInput } from '../../validation.ts';
import { requireApiKeyQuota } from './quota.ts';

const PAGES = pageStatements('api-keys', 'ApiKey', '"revokedAt" IS NULL');

const MAX_ADDRESSES = 20;

/** An address or a CIDR block, which becomes its only spelling. */
const allowedAddress = z
  .string()
  .max(50)
  .transform((text, context) => {
    const address = normalizeAllowedAddress(text);
    if (address !== undefined) return address;
    context.addIssue({
      code: 'custom',
      message: 'Must be an IP address or a CIDR block, such as "203.0.113.9" or "203.0.113.0/24", not every address.',
    });
    return z.NEVER;
  });

/** Checks a new API key. */
export const createInput = z.strictObject({
  name: lineOfText(200),
  environment: z.enum(['LIVE', 'TEST']).nullish(),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1, 'Must have at least one scope. Omit this field to use READ, DELIVERIES, and WRITE.')
    .meta({ default: [...DEFAULT_SCOPES] })
    .transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope)))
    .nullish(),
  allowedAddresses: z
    .array(allowedAddress)
    .min(1, 'Must have at least one address. Omit this field to allow every address.')
    .max(MAX_ADDRESSES)
    .transform((addresses) => [...new Set(addresses)])
    .nullish(),
  expiresAt: z
    .date()
    .refine((time) => time.getTime() > sharedNow(), 'Must be in the future.')
    .nullish(),
});

export type CreateApiKeyInput = {
  name: string;
  environment?: KeyEnvironment | null;
  scopes?: readonly Scope[] | null;
  allowedAddresses?: readonly string[] | null;
  expiresAt?: Date | null;
};
export type ApiKeyService = ReturnType<typeof createApiKeyService>;

/** A project's API keys. */
export function createApiKeyService(options: {
  db: TenantDatabase;
  bus: Bus;
  keyring: Keyring;
  /** The networks that the server supports, if known. */
  networks: readonly Network[];
  /** The rule for creating a key that can change an upstream URL. Default: none. */
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, keyring } = options;
  const pages = createPages({
    db: db.pool,
    statements: PAGES,
    find: (query: Omit<Prisma.ApiKeyFindManyArgs, 'where' | 'take'>, { where, ...which }) =>
      db.prisma.apiKey.findMany({
        ...query,
        ...which,
        where: { AND: [where, { revokedAt: null }] },
        orderBy: { id: 'desc' },
      }),
  });

  return {
    async list(
      viewer: Viewer,
      projectId: string,
      period: Period,
      query: Prisma.ApiKeyFindManyArgs & PageQuery,
    ): Promise<ApiKey[]> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.load(viewer, visible, query, createdBetween('ApiKey', 'createdAt', period)) : [];
    },

    /** The number of items in the list. Null if there are more than `COUNT_LIMIT`. */
    async count(viewer: Viewer, projectId: string, period: Period): Promise<number | null> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.count(viewer, visible, createdBetween('ApiKey', 'createdAt', period)) : 0;
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.ApiKeyFindFirstArgs = {},
    ): Promise<ApiKey | null> {
      return db.prisma.apiKey.findFirst({ ...query, where: usable(viewer, id, projectId) });
    },

    /**
     * Creates a key. `key` is its full value, which isn't stored and can't be read again.
     *
     * @throws AppError `API_KEY_LIMIT_REACHED`, `NOT_FOUND`, `RECENT_SIGN_IN_REQUIRED`, or `VALIDATION_FAILED`
     */
    async create(
      viewer: Viewer,
      projectId: string,
      input: CreateApiKeyInput,
    ): Promise<{ apiKey: ApiKey; key: string }> {
      const creation = db.prisma.$transaction(async (tx) => {
        // Without the lock, an admin who is being removed could still create a key, and keep access through it.
        const project = await lockToManage(tx, viewer, requireId('Project', projectId));
        const { name, expiresAt = null, ...given } = parseInput(createInput, input);
        const environment = given.environment ?? modeOn(options.networks, project.mode);
        const scopes = [...(given.scopes ?? DEFAULT_SCOPES)];
        if (grantsProtected(scopes)) options.requireRecentSignIn?.(viewer, 'create an API key with `CREDENTIALS`');
        await requireApiKeyQuota(tx, project);
        const key = newApiKey(environment);
        const hash = apiKeyHashes(key, keyring)[0]!;
        const allowed = given.allowedAddresses && { allowedAddresses: given.allowedAddresses };
        const changes = { name, environment, scopes, ...allowed, expiresAt };
        const values = { projectId: project.id, ...changes, hash, last4: key.slice(-4), createdById: viewer.userId };
        const apiKey = await tx.apiKey.create({ data: { id: newId('ApiKey'), ...values } });
        await recordAudit(tx, viewer, { action: 'api_key.created', projectId, targetId: apiKey.id, changes });
        return { apiKey, key };
      });
      return creation.catch(rethrowProjectGone);
    },

    /** Revokes a key permanently. Requests after the commit are rejected, and open sockets are closed immediately. */
    async revoke(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
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

function usable(viewer: Viewer, id: string, projectId?: string | null) {
  return { ...visibleItem(viewer, 'ApiKey', id, projectId), revokedAt: null };
}
