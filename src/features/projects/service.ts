import { getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { requireUser, visibleProject, visibleProjects } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database, Transaction } from '../../database/client.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { clearHistory } from '../../delivery/queue/clear-history.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Prisma, Project } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { lineOfText, type Nullable, parseInput } from '../../validation.ts';
import { gatewayHostInput } from './gateway-host.ts';
import { lockHost, queueForHosts, releaseHost, takeHost } from './host-names.ts';
import { milestonesInput, milestonesUsdOf } from './milestones.ts';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** An EVM address, EIP-55 checked when it mixes cases, returned checksummed. The zero address would burn the money. */
const walletAddressInput = z
  .string()
  .refine(isWallet, 'Must be an EVM address: 0x and 40 hex digits, with a right EIP-55 checksum when cases are mixed.')
  .refine((address) => address.toLowerCase() !== ZERO_ADDRESS, 'The zero address cannot receive payments.')
  .transform((address) => getAddress(address.toLowerCase()));

function isWallet(address: string): boolean {
  const allUpper = /^0x[0-9A-F]{40}$/.test(address);
  return isAddress(allUpper ? address.toLowerCase() : address, { strict: true });
}

const ONLY_THE_OWNER =
  'An API key cannot change `walletAddress` or `gatewayHost`: they decide who is paid. Use a user token of the owner.';

export type CreateProjectInput = {
  name: string;
  walletAddress: string;
  gatewayHost?: string | null;
  milestonesUsd?: string[] | null;
};
export type UpdateProjectInput = Nullable<CreateProjectInput>;
export type ProjectService = ReturnType<typeof createProjectService>;

/**
 * Projects of a user. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, `CONFLICT` for a host name that leads to
 * another project, `HOST_RESERVED` for one that another account released and, for API keys, `FORBIDDEN`.
 *
 * @param options `ownHosts`: names under which the service itself is reached, which no project may have. `secretOf`: the
 *   secret of a project with which the gateway signs what it tells upstreams.
 */
export function createProjectService(options: {
  db: Database;
  bus: Bus;
  ownHosts: ReadonlySet<string> | undefined;
  secretOf(projectId: string): string;
}) {
  const { db, bus } = options;
  const createInput = z.strictObject({
    name: lineOfText(200),
    walletAddress: walletAddressInput,
    gatewayHost: gatewayHostInput(options.ownHosts).nullish(),
    milestonesUsd: milestonesInput.optional(),
  });
  const updateInput = createInput.partial();

  return {
    list(viewer: Viewer, query: Prisma.ProjectFindManyArgs): Promise<Project[]> {
      return db.prisma.project.findMany({
        ...query,
        where: { AND: [query.where ?? {}, visibleProjects(viewer)] },
        orderBy: { id: 'desc' },
      });
    },

    /** The project, or null when there is none that the viewer may see. */
    async find(viewer: Viewer, id: string, query: Omit<Prisma.ProjectFindFirstArgs, 'where'> = {}) {
      return db.prisma.project.findFirst({
        ...query,
        where: visibleProject(viewer, id),
      });
    },

    /** The secret with which the owner checks that a request to an upstream came through the gateway; none for API keys. */
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
      // Where the money goes is for people to say: a leaked key must not be able to redirect it.
      if (data.walletAddress !== undefined || data.gatewayHost !== undefined) requireUser(viewer, ONLY_THE_OWNER);
      const project = await db.prisma
        .$transaction(async (tx) => {
          if (data.gatewayHost) await queueForHosts(tx);
          // Two changes at once must each record what they really replaced.
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
      bus.publish(topics.routes(id));
      if (data.gatewayHost !== undefined) bus.publish(topics.gatewayHosts);
      return project;
    },

    async delete(viewer: Viewer, id: string): Promise<void> {
      requireUser(viewer);
      const where = visibleProject(viewer, id);
      const project = await db.prisma.project.findFirst({ where, select: { id: true, name: true } });
      if (!project) throw notFound();
      await clearHistory(db.pool, 'projectId', id);
      await db.prisma.$transaction(async (tx) => {
        const host = await lockHost(tx, id);
        const { count } = await tx.project.deleteMany({ where });
        if (count === 0) throw notFound();
        if (host) await releaseHost(tx, host, viewer.userId);
        const changes = { name: project.name };
        await recordAudit(tx, viewer, { action: 'project.deleted', ...targetOf(project), changes });
      });
      bus.publish(topics.routes(id));
      bus.publish(topics.gatewayHosts);
    },
  };
}

/** What a changed host name means beside the project's own row. */
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
    detail: 'The host name leads to another project already.',
    fields: [{ pointer: '/gatewayHost', message: 'Is taken by another project.' }],
  });
}
