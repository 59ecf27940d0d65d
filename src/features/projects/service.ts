import { getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { noteVisible, requireId, requireUser, visibleProject, visibleProjects } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database, Transaction } from '../../database/client.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Prisma, Project } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { lineOfText, type Nullable, parseInput } from '../../validation.ts';
import { buryProject } from '../deletions/bury.ts';
import { findProject } from './find.ts';
import { gatewayHostInput, type HostRules } from './gateway-host.ts';
import { lockHost, queueForHosts, releaseHost, takeHost } from './host-names.ts';
import { milestonesInput, milestonesUsdOf } from './milestones.ts';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** An EVM address, returned with its checksum. A mixed-case address must have a valid EIP-55 checksum. */
const walletAddressInput = z
  .string()
  .refine(isWallet, 'Must be an EVM address: 0x and 40 hex digits, with a valid EIP-55 checksum if in mixed case.')
  .refine((address) => address.toLowerCase() !== ZERO_ADDRESS, 'The zero address cannot receive payments.')
  .transform((address) => getAddress(address.toLowerCase()));

function isWallet(address: string): boolean {
  const allUpper = /^0x[0-9A-F]{40}$/.test(address);
  return isAddress(allUpper ? address.toLowerCase() : address, { strict: true });
}

const ONLY_THE_OWNER =
  'API keys cannot change `walletAddress` or `gatewayHost`, because they determine who is paid. Use the project owner’s user token.';

export type CreateProjectInput = {
  name: string;
  walletAddress: string;
  gatewayHost?: string | null;
  milestonesUsd?: string[] | null;
};
export type UpdateProjectInput = Nullable<CreateProjectInput>;
export type ProjectService = ReturnType<typeof createProjectService>;

/**
 * A user's projects. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, `CONFLICT` for another project's host
 * name, `HOST_RESERVED` for one that another account released, and `FORBIDDEN` for API keys.
 *
 * @param options `hostRules`: which host names projects can't have. `secretOf`: a project's secret, which signs the
 *   gateway's requests to upstreams.
 */
export function createProjectService(options: {
  db: Database;
  bus: Bus;
  hostRules: HostRules;
  secretOf(projectId: string): string;
}) {
  const { db, bus } = options;
  const createInput = z.strictObject({
    name: lineOfText(200),
    walletAddress: walletAddressInput,
    gatewayHost: gatewayHostInput(options.hostRules).nullish(),
    milestonesUsd: milestonesInput.optional(),
  });
  const updateInput = createInput.partial();

  return {
    async list(viewer: Viewer, query: Prisma.ProjectFindManyArgs): Promise<Project[]> {
      const projects = await db.prisma.project.findMany({
        ...query,
        where: { AND: [query.where ?? {}, visibleProjects(viewer)] },
        orderBy: { id: 'desc' },
      });
      noteVisible(viewer, projects);
      return projects;
    },

    /** The project, or null if it doesn't exist or the viewer can't see it. */
    async find(viewer: Viewer, id: string): Promise<Project | null> {
      const project = await findProject(db.pool, viewer, requireId('Project', id));
      if (project) noteVisible(viewer, [project]);
      return project;
    },

    /** The secret that an upstream uses to verify that a request came through the gateway. Null for API keys. */
    upstreamSecret(viewer: Viewer, { id }: Pick<Project, 'id'>): string | null {
      return viewer.kind === 'user' ? options.secretOf(id) : null;
    },

    async create(viewer: Viewer, input: CreateProjectInput): Promise<Project> {
      requireUser(viewer);
      const values = toColumns(parseInput(createInput, input));
      const data = { id: newId('Project'), userId: viewer.userId, ...values };
      const project = await db.prisma
        .$transaction(async (tx) => {
          if (values.gatewayHost) await queueForHosts(tx);
          const created = await tx.project.create({ data });
          if (created.gatewayHost) await takeHost(tx, created.gatewayHost, viewer.userId);
          const changes = changesBetween(undefined, auditedOf(created));
          await recordAudit(tx, viewer, { action: 'project.created', ...targetOf(created), ...changes });
          return created;
        })
        .catch(rethrowHostConflict);
      if (project.gatewayHost) bus.publish(topics.gatewayHosts);
      return project;
    },

    async update(viewer: Viewer, id: string, input: UpdateProjectInput): Promise<Project> {
      const where = visibleProject(viewer, id);
      const data = toColumns(parseInput(updateInput, input));
      // A leaked API key must not be able to redirect payments.
      if (data.walletAddress !== undefined || data.gatewayHost !== undefined) requireUser(viewer, ONLY_THE_OWNER);
      const project = await db.prisma
        .$transaction(async (tx) => {
          if (data.gatewayHost) await queueForHosts(tx);
          // Of two concurrent changes, each must record the values it actually replaced.
          await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${id} FOR NO KEY UPDATE`;
          const before = await tx.project.findFirst({ where });
          if (!before) throw notFound();
          const updated = await tx.project.update({
            where: { id },
            data: { ...data, updatedAt: new Date(sharedNow()) },
          });
          await moveHost(tx, viewer, before.gatewayHost, updated.gatewayHost);
          const changes = changesBetween(auditedOf(before), auditedOf(updated));
          await recordAudit(tx, viewer, { action: 'project.updated', ...targetOf(updated), ...changes });
          return updated;
        })
        .catch(rethrowHostConflict);
      bus.publishHereFirst(topics.routes(id));
      if (data.gatewayHost !== undefined) bus.publish(topics.gatewayHosts);
      return project;
    },

    async delete(viewer: Viewer, id: string): Promise<void> {
      requireUser(viewer);
      const where = visibleProject(viewer, id);
      const project = await db.prisma.project.findFirst({ where, select: { id: true, name: true } });
      if (!project) throw notFound();
      const keyIds = await db.prisma.$transaction(async (tx) => {
        const host = await lockHost(tx, id);
        if ((await tx.project.count({ where })) === 0) throw notFound();
        const keys = await buryProject(tx, id);
        if (host) await releaseHost(tx, host, viewer.userId);
        const changes = { name: project.name };
        await recordAudit(tx, viewer, { action: 'project.deleted', ...targetOf(project), changes });
        return keys;
      });
      bus.publishHereFirst(topics.routes(id));
      for (const keyId of keyIds) bus.publish(topics.apiKeyRevoked(keyId));
      bus.publish(topics.gatewayHosts);
      bus.publish(topics.deletions);
    },
  };
}

/** Updates the reservations after a project's host name has changed. */
async function moveHost(tx: Transaction, { userId }: Viewer, before: string | null, after: string | null) {
  if (after === before) return;
  if (after) await takeHost(tx, after, userId);
  if (before) await releaseHost(tx, before, userId);
}

const targetOf = ({ id }: Pick<Project, 'id'>) => ({ projectId: id, targetId: id });

function auditedOf(project: Project) {
  const { name, walletAddress, gatewayHost } = project;
  return { name, walletAddress, gatewayHost, milestonesUsd: milestonesUsdOf(project) };
}

function toColumns<T extends { milestonesUsd?: bigint[] | undefined }>({ milestonesUsd, ...columns }: T) {
  return { ...columns, ...(milestonesUsd && { milestonesAtomic: milestonesUsd.map(String) }) };
}

function rethrowHostConflict(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('CONFLICT', {
    detail: 'This host name is already in use by another project.',
    fields: [{ pointer: '/gatewayHost', message: 'Already used by another project.' }],
  });
}
