import { z } from 'zod';
import { recordAudit } from '../../audit/record.ts';
import { inProject, ownerOf, visibleItem, visibleProject } from '../../auth/access.ts';
import { lockProject, lockToManage } from '../../auth/lock-project.ts';
import { ROLE_PERMISSIONS, type Role } from '../../auth/permissions.ts';
import { grantsProtected, type RequireRecentSignIn } from '../../auth/recent-sign-in.ts';
import { requirePermission } from '../../auth/require-permission.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import { type TenantDatabase, type TenantTransaction, unfiltered } from '../../database/tenant-client.ts';
import { belongingTo, sameRow, type TenantFilter } from '../../database/tenant-filter.ts';
import { notFound } from '../../errors.ts';
import type { Prisma, Project, ProjectMember, User } from '../../generated/prisma/client.ts';
import { MemberRole } from '../../generated/prisma/enums.ts';
import { parseInput } from '../../validation.ts';
import { revokeSentBy } from './invitations/revoke.ts';
import { withdrawOffers } from './transfers/withdraw.ts';

/** The role of a member. An owner isn't a member; see `transfers/`. */
export const roleInput = z.enum(MemberRole, 'Must be ADMIN, DEVELOPER, or VIEWER.');
const updateInput = z.strictObject({ role: roleInput });

/**
 * The viewer's role in a project that they can see; null for API keys. If the project has just changed hands, its
 * previous owner isn't among the members that were read with the request.
 */
export function viewerRole(viewer: Viewer, { id, userId }: Pick<Project, 'id' | 'userId'>): Role | null {
  if (viewer.kind === 'apiKey') return null;
  return userId === viewer.userId ? 'OWNER' : (viewer.memberships?.[id] ?? 'ADMIN');
}

export type MemberService = ReturnType<typeof createMemberService>;

/**
 * A project’s members. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`.
 *
 * @param options `requireRecentSignIn`: the rule for roles that can change who is paid or what buyers get. Default: none.
 */
export function createMemberService(options: {
  db: TenantDatabase;
  bus: Bus;
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, requireRecentSignIn } = options;
  return {
    async list(viewer: Viewer, projectId: string, query: Prisma.ProjectMemberFindManyArgs): Promise<ProjectMember[]> {
      return db.prisma.projectMember.findMany({
        ...query,
        where: { AND: [await inProject(db.prisma, viewer, projectId), query.where ?? {}] },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.ProjectMemberFindFirstArgs = {},
    ): Promise<ProjectMember | null> {
      return db.prisma.projectMember.findFirst({
        ...query,
        where: visibleItem(viewer, 'ProjectMember', id, projectId),
      });
    },

    /** The account that a project belongs to. */
    async owner(viewer: Viewer, projectId: string): Promise<User> {
      const owner = await db.prisma.user.findFirst({
        where: ownerOf(viewer, projectId),
      });
      if (!owner) throw notFound();
      return owner;
    },

    /**
     * Changes a member's role. If the member is no longer an admin, their open invitations are revoked.
     *
     * @throws AppError `RECENT_SIGN_IN_REQUIRED` if the new role can do more.
     */
    async update(
      viewer: Viewer,
      id: string,
      input: { role: MemberRole },
      projectId?: string | null,
    ): Promise<ProjectMember> {
      const { role } = parseInput(updateInput, input);
      const where = visibleItem(viewer, 'ProjectMember', id, projectId);
      const member = await db.prisma.$transaction(async (tx) => {
        const before = await lockMember(tx, viewer, where);
        if (before.role === role) return before;
        if (grantsProtected(ROLE_PERMISSIONS[role], ROLE_PERMISSIONS[before.role]))
          requireRecentSignIn?.(viewer, `give someone the role \`${role}\``);
        const updated = await tx.projectMember.update({
          where: sameRow(before),
          data: { role, updatedAt: new Date(sharedNow()) },
        });
        if (role !== 'ADMIN') await revokeSentBy(unfiltered(tx), viewer, before);
        const { userId, email } = before;
        await recordAudit(tx, viewer, {
          action: 'member.updated',
          projectId: before.projectId,
          targetId: id,
          changes: { userId, email, role },
          previous: { role: before.role },
        });
        return updated;
      });
      bus.publish(topics.membershipsChanged(member.userId));
      return member;
    },

    /**
     * Removes a member, effective immediately. Members may remove themselves, regardless of their role. Everything they
     * created stays, including API keys. Open invitations from them and to them are revoked, and any offer to transfer the
     * project to them is withdrawn, even if it was made to their address before they joined.
     *
     * @throws AppError `FORBIDDEN` for someone who may remove only themselves.
     */
    async remove(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      const where = visibleItem(viewer, 'ProjectMember', id, projectId);
      const found = await db.prisma.projectMember.findFirst({ where });
      if (!found) throw notFound();
      const isLeaving = viewer.kind === 'user' && viewer.userId === found.userId;
      if (!isLeaving) requirePermission(viewer, found.projectId, 'MANAGE_MEMBERS');
      await db.prisma.$transaction(async (tx) => {
        if (isLeaving) await lockProject(tx, visibleProject(viewer, found.projectId), found.projectId, viewer);
        else await lockToManage(tx, viewer, found.projectId);
        const removed = await tx.projectMember.findFirst({ where });
        if (!removed) throw notFound();
        const { projectId, userId, email, role } = removed;
        await tx.projectMember.delete({ where: sameRow(removed) });
        const addresses = await addressesOf(tx, removed);
        await revokeSentBy(unfiltered(tx), viewer, removed, addresses);
        const toAddress = { userId: null, email: { in: addresses } };
        await withdrawOffers(unfiltered(tx), viewer, { projectId, OR: [{ userId }, toAddress] });
        await tx.connectorAuthorization.deleteMany({ where: belongingTo(removed, { userId, projectId }) });
        await recordAudit(tx, viewer, {
          action: 'member.removed',
          projectId,
          targetId: id,
          changes: { userId, email, role },
        });
      });
      bus.publish(topics.membershipsChanged(found.userId));
    },
  };

  /**
   * The addresses at which a member may still have invitations and offers. A former owner accepted no invitation, so their
   * address is known only from their offers, which have their name instead if they had no verified address.
   */
  async function addressesOf(tx: TenantTransaction, member: ProjectMember): Promise<string[]> {
    const { projectId, userId, email } = member;
    const where = belongingTo(member, { projectId, offeredById: userId });
    const offers = await tx.projectTransfer.findMany({
      where,
      distinct: 'offeredByName',
      select: { offeredByName: true },
    });
    return [...(email === null ? [] : [email]), ...offers.map(({ offeredByName }) => offeredByName)];
  }

  /** Finds a member, and locks the project. */
  async function lockMember(
    tx: TenantTransaction,
    viewer: Viewer,
    where: Prisma.ProjectMemberWhereInput & TenantFilter,
  ): Promise<ProjectMember> {
    const found = await tx.projectMember.findFirst({ where });
    if (!found) throw notFound();
    await lockToManage(tx, viewer, found.projectId);
    const member = await tx.projectMember.findFirst({ where });
    if (!member) throw notFound();
    return member;
  }
}
