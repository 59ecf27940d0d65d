import { z } from 'zod';
import { recordAudit } from '../../../audit/record.ts';
import { inProject, inVisibleProject, ownAccount, requireId, visibleItem } from '../../../auth/access.ts';
import { emailInput } from '../../../auth/email.ts';
import { lockProject, lockToManage } from '../../../auth/lock-project.ts';
import { ROLE_PERMISSIONS } from '../../../auth/permissions.ts';
import { grantsProtected, type RequireRecentSignIn } from '../../../auth/recent-sign-in.ts';
import { rethrowProjectGone } from '../../../auth/require-project.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { type Bus, topics } from '../../../bus/bus.ts';
import { sharedNow } from '../../../clock.ts';
import { type TenantDatabase, type TenantTransaction, unfiltered } from '../../../database/tenant-client.ts';
import { belongingTo, marked, projectOf, type TenantFilter } from '../../../database/tenant-filter.ts';
import { AppError, notFound } from '../../../errors.ts';
import type { Invitation, MemberRole, Prisma, Project, ProjectMember } from '../../../generated/prisma/client.ts';
import { newId } from '../../../ids.ts';
import { parseInput } from '../../../validation.ts';
import { roleInput } from '../service.ts';
import { writeInvitationMail } from './mail.ts';
import { requireInvitationQuota, requireMembershipQuota } from './quota.ts';
import { recordRevoked } from './revoke.ts';

const LIFETIME_DAYS = 7;

/** Checks a new invitation. */
export const inviteInput = z.strictObject({
  email: emailInput,
  role: roleInput,
});

export type InvitationService = ReturnType<typeof createInvitationService>;

/**
 * Invitations to projects, by email address. The address determines only who sees an invitation. The person who accepts
 * it becomes a member with their account, so changing the address later has no effect. Methods throw AppError
 * `NOT_FOUND` and `VALIDATION_FAILED`.
 *
 * @param options `publicUrl`: this service's public URL, if known. `canSendEmail`: whether the operator has set up
 * email. `requireRecentSignIn`: the rule for roles that can change who is paid or what buyers get. Default: none.
 */
export function createInvitationService(options: {
  db: TenantDatabase;
  bus: Bus;
  publicUrl: string | undefined;
  canSendEmail: boolean;
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, publicUrl, canSendEmail, requireRecentSignIn } = options;
  /** The page where invitees respond. The URL needs no secret, because the page shows only the signed-in user's invitations. */
  const url = publicUrl === undefined ? null : `${publicUrl}/console/invitations`;

  return {
    /** A project's open invitations, including those that have expired, newest first. */
    async list(viewer: Viewer, projectId: string, query: Prisma.InvitationFindManyArgs): Promise<Invitation[]> {
      return db.prisma.invitation.findMany({
        ...query,
        where: { AND: [await inProject(db.prisma, viewer, projectId), query.where ?? {}, { status: 'PENDING' }] },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.InvitationFindFirstArgs = {},
    ): Promise<Invitation | null> {
      const where = { ...visibleItem(viewer, 'Invitation', id, projectId), status: 'PENDING' as const };
      return db.prisma.invitation.findFirst({ ...query, where });
    },

    /** The open invitations for the viewer's verified address, newest first. */
    async listForViewer(viewer: Viewer, query: Prisma.InvitationFindManyArgs): Promise<Invitation[]> {
      return db.prisma.invitation.findMany({
        ...query,
        where: { AND: [addressedTo(viewer), query.where ?? {}] },
        orderBy: { id: 'desc' },
      });
    },

    /**
     * Invites the person with an address. The result is the same whether or not someone with this address has an account.
     *
     * @throws AppError `CONFLICT` if the address belongs to the viewer or to a member, or has an open invitation,
     *   `RATE_LIMITED` for too many invitations, and `RECENT_SIGN_IN_REQUIRED`.
     */
    async invite(viewer: Viewer, projectId: string, input: { email: string; role: MemberRole }): Promise<Invitation> {
      const { email, role } = parseInput(inviteInput, input) as { email: string; role: MemberRole };
      const creation = db.prisma.$transaction(async (tx) => {
        const project = await lockToManage(tx, viewer, projectId);
        if (grantsProtected(ROLE_PERMISSIONS[role])) requireRecentSignIn?.(viewer, `give someone the role \`${role}\``);
        const now = new Date(sharedNow());
        await tx.invitation.updateMany({
          where: belongingTo(project, { projectId, email, status: 'PENDING', expiresAt: { lte: now } }),
          data: { status: 'REVOKED', endedAt: now },
        });
        await refuseKnown(tx, viewer, project, email);
        await requireInvitationQuota(unfiltered(tx), viewer, projectId, now);
        const invitation = await tx.invitation.create({
          data: {
            id: newId('Invitation'),
            projectId: project.id,
            email,
            role,
            createdAt: now,
            invitedById: viewer.userId,
            invitedByName: await nameOf(tx, viewer),
            expiresAt: new Date(now.getTime() + LIFETIME_DAYS * 86_400_000),
          },
        });
        if (canSendEmail) await writeInvitationMail(unfiltered(tx), { invitation, projectName: project.name, url });
        await recordAudit(tx, viewer, {
          action: 'invitation.created',
          projectId,
          targetId: invitation.id,
          changes: { email, role },
        });
        return invitation;
      });
      return creation.catch(rethrowProjectGone);
    },

    /** Revokes an open invitation, effective immediately. */
    async revoke(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      const where = { ...visibleItem(viewer, 'Invitation', id, projectId), status: 'PENDING' as const };
      await db.prisma.$transaction(async (tx) => {
        const found = await tx.invitation.findFirst({ where });
        if (!found) throw notFound();
        await lockToManage(tx, viewer, found.projectId);
        const [revoked] = await tx.invitation.updateManyAndReturn({
          where,
          data: { status: 'REVOKED', endedAt: new Date(sharedNow()) },
        });
        if (!revoked) throw notFound();
        await recordRevoked(unfiltered(tx), viewer, revoked);
      });
    },

    /**
     * Makes the invited person a member.
     *
     * @throws AppError `NOT_FOUND` unless the invitation is open and addressed to the viewer's verified address, and
     *   `CONFLICT` if the viewer already owns the project or is a member. An invitation never changes a role.
     */
    async accept(viewer: Viewer, id: string): Promise<ProjectMember> {
      const member = await db.prisma.$transaction(async (tx) => {
        const invitation = await endInvitation(tx, viewer, id, 'ACCEPTED');
        const { projectId, email, role } = invitation;
        await requireMembershipQuota(unfiltered(tx), viewer, projectId);
        const created = await tx.projectMember.create({
          data: {
            id: newId('ProjectMember'),
            projectId: projectOf(invitation),
            userId: viewer.userId,
            role,
            email,
            name: await subjectOf(tx, viewer),
          },
        });
        await recordAudit(tx, viewer, {
          action: 'invitation.accepted',
          projectId,
          targetId: id,
          changes: { email, role },
        });
        return created;
      });
      bus.publish(topics.membershipsChanged(viewer.userId));
      return member;
    },

    /** Declines an invitation. Throws AppError `NOT_FOUND`, like `accept`. */
    async decline(viewer: Viewer, id: string): Promise<void> {
      await db.prisma.$transaction(async (tx) => {
        const { projectId, email, role } = await endInvitation(tx, viewer, id, 'DECLINED');
        await recordAudit(tx, viewer, {
          action: 'invitation.declined',
          projectId,
          targetId: id,
          changes: { email, role },
        });
      });
    },
  };
}

/** The open invitations that a person can respond to. Without a verified address, there are none. */
function addressedTo(viewer: Viewer): Prisma.InvitationWhereInput & TenantFilter {
  const email = (viewer.kind === 'user' ? viewer.email : undefined) ?? { in: [] };
  return marked({ email, status: 'PENDING', expiresAt: { gt: new Date(sharedNow()) } });
}

/** The invitations that the viewer can see: invitations to their projects, and invitations that they can respond to. */
export function visibleInvitations(viewer: Viewer) {
  return marked({ OR: [inVisibleProject(viewer), addressedTo(viewer)] });
}

/**
 * Ends an invitation that is addressed to the viewer. The project's lock keeps the invitation from being answered or
 * revoked twice.
 */
async function endInvitation(
  tx: TenantTransaction,
  viewer: Viewer,
  id: string,
  status: 'ACCEPTED' | 'DECLINED',
): Promise<Invitation> {
  const where = { ...addressedTo(viewer), id: requireId('Invitation', id) };
  const found = await tx.invitation.findFirst({ where });
  if (!found) throw notFound();
  await lockProject(tx, belongingTo(found, { id: found.projectId }), found.projectId);
  const [ended] = await tx.invitation.updateManyAndReturn({
    where,
    data: { status, endedAt: new Date(sharedNow()) },
  });
  if (!ended) throw notFound();
  return ended;
}

async function refuseKnown(tx: TenantTransaction, viewer: Viewer, project: Project, email: string): Promise<void> {
  const known = { projectId: project.id, email };
  if (viewer.kind === 'user' && viewer.email === email) throw conflict('This is your own address.');
  if ((await tx.projectMember.count({ where: belongingTo(project, known) })) > 0) {
    throw conflict('A member has already accepted an invitation to this address. Change that member’s role instead.');
  }
  if ((await tx.invitation.count({ where: belongingTo(project, { ...known, status: 'PENDING' }) })) > 0) {
    throw conflict('This address already has an open invitation. Revoke it to send another one.');
  }
}

const conflict = (detail: string) => new AppError('CONFLICT', { detail });

/** What the invited person sees as the sender: a verified address, or the sender's name at the identity provider. */
async function nameOf(tx: TenantTransaction, viewer: Viewer): Promise<string> {
  if (viewer.kind === 'user' && viewer.email !== undefined) return viewer.email;
  return subjectOf(tx, viewer);
}

async function subjectOf(tx: TenantTransaction, viewer: Viewer): Promise<string> {
  return (await tx.user.findUniqueOrThrow({ where: ownAccount(viewer), select: { subject: true } })).subject;
}
