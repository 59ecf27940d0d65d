import { getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { requireUser, visibleProject, visibleProjects } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import { isForeignKeyViolation } from '../../database/errors.ts';
import { notFound } from '../../errors.ts';
import type { Prisma, Project } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { lineOfText, parseInput } from '../../validation.ts';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** An EVM address, EIP-55 checked when it mixes cases, returned checksummed. The zero address would burn the money. */
export const walletAddressInput = z
  .string()
  .refine(isWallet, 'Must be an EVM address: 0x and 40 hex digits, with a right EIP-55 checksum when cases are mixed.')
  .refine((address) => address.toLowerCase() !== ZERO_ADDRESS, 'The zero address cannot receive payments.')
  .transform((address) => getAddress(address.toLowerCase()));

function isWallet(address: string): boolean {
  const allUpper = /^0x[0-9A-F]{40}$/.test(address);
  return isAddress(allUpper ? address.toLowerCase() : address, { strict: true });
}

const createInput = z.strictObject({ name: lineOfText(200), walletAddress: walletAddressInput });
const updateInput = createInput.partial();

export type CreateProjectInput = { name: string; walletAddress: string };
export type UpdateProjectInput = { name?: string | null; walletAddress?: string | null };
export type ProjectService = ReturnType<typeof createProjectService>;

/** Projects of a user. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED` and, for API keys, `FORBIDDEN`. */
export function createProjectService({ db }: { db: Database }) {
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

    async create(viewer: Viewer, input: CreateProjectInput): Promise<Project> {
      requireUser(viewer);
      const values = parseInput(createInput, input);
      return db.prisma.project.create({ data: { id: newId('Project'), userId: viewer.userId, ...values } });
    },

    async update(viewer: Viewer, id: string, input: UpdateProjectInput): Promise<Project> {
      const where = visibleProject(viewer, id);
      const values = parseInput(updateInput, input);
      // Where the money goes is for people to say: a leaked key must not be able to redirect it.
      if (values.walletAddress !== undefined) requireUser(viewer);
      const [project] = await db.prisma.project.updateManyAndReturn({ where, data: values });
      if (!project) throw notFound();
      return project;
    },

    async delete(viewer: Viewer, id: string): Promise<void> {
      requireUser(viewer);
      const { count } = await db.prisma.project.deleteMany({
        where: visibleProject(viewer, id),
      });
      if (count === 0) throw notFound();
    },
  };
}

/**
 * The project of a change. It may be deleted before the change is written: see `rethrowProjectGone`.
 *
 * @throws AppError `NOT_FOUND` when the viewer may not see it.
 */
export async function requireProject(
  tx: Pick<Database['prisma'], 'project'>,
  viewer: Viewer,
  projectId: string,
): Promise<Project> {
  const project = await tx.project.findFirst({
    where: visibleProject(viewer, projectId),
  });
  if (!project) throw notFound();
  return project;
}

/** For writes under a project: one that was deleted in between is one that is not there. */
export function rethrowProjectGone(error: unknown): never {
  throw isForeignKeyViolation(error) ? notFound() : error;
}
