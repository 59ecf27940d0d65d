import { recordAudit } from '../../../audit/record.ts';
import { inProject, inVisibleProject, ownAccount, rememberVisible, requireId } from '../../../auth/access.ts';
import { lockAsOwner, lockProject } from '../../../auth/lock-project.ts';
import type { RequireRecentSignIn } from '../../../auth/recent-sign-in.ts';
import { rethrowProjectGone } from '../../../auth/require-project.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { type Bus, topics } from '../../../bus/bus.ts';
import { sharedNow } from '../../../clock.ts';
import { type TenantDatabase, type TenantTransaction, unfiltered } from '../../../database/tenant-client.ts';
import { belongingTo, marked, type TenantFilter } from '../../../database/tenant-filter.ts';
import { AppError, notFound } from '../../../errors.ts';
import type { Prisma, Project, ProjectTransfer } from '../../../generated/prisma/client.ts';
import { newId } from '../../../ids.ts';
import { writeOfferMail } from '../invitations/mail.ts';
import { changeOwner } from './accept.ts';
import { findRecipient, type OfferInput } from './recipient.ts';
import { withdrawOffers } from './withdraw.ts';

const LIFETIME_DAYS = 7;
const DAY_MILLISECONDS = 86_400_000;
/** Each offer to an address may send an email. */
const MAX_PER_ACCOUNT_AND_DAY = 50;

export type TransferService = ReturnType<typeof createTransferService>;

/**
 * Project transfers: the owner offers a project, and it changes hands only if the new owner accepts. Methods throw
 * AppError `NOT_FOUND` and `VALIDATION_FAILED`.
 *
 * @param options `publicUrl`: this service's public URL, if known. `canSendEmail`: whether the operator has set up
 * email. `requireRecentSignIn`: the rule for offering a project. Default: none.
 */
export function createTransferService(options: {
  db: TenantDatabase;
  bus: Bus;
  publicUrl: string | undefined;
  canSendEmail: boolean;
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, publicUrl, canSendEmail, requireRecentSignIn } = options;
  const url = publicUrl === undefined ? null : `${publicUrl}/console/invitations`;

  return {
    /** A project's open offer, or null. */
    async find(
      viewer: Viewer,
      projectId: string,
      query: Prisma.ProjectTransferFindFirstArgs = {},
    ): Promise<ProjectTransfer | null> {
      const where = { ...(await inProject(db.prisma, viewer, projectId)), ...open() };
      return db.prisma.projectTransfer.findFirst({ ...query, where });
    },

    /** The open offers that the viewer can respond to, newest first. */
    async listForViewer(viewer: Viewer, query: Prisma.ProjectTransferFindManyArgs): Promise<ProjectTransfer[]> {
      return db.prisma.projectTransfer.findMany({
        ...query,
        where: { AND: [addressedTo(viewer), query.where ?? {}] },
        orderBy: { id: 'desc' },
      });
    },

    /**
     * Offers a project to a member or to an email address. The result is the same whether or not someone with this
     * address has an account.
     *
     * @throws AppError `CONFLICT` if the project is already offered to someone, `RATE_LIMITED` for too many offers, and
     * `RECENT_SIGN_IN_REQUIRED`.
     */
    async offer(viewer: Viewer, projectId: string, input: OfferInput): Promise<ProjectTransfer> {
      const creation = db.prisma.$transaction(async (tx) => {
        const project = await lockAsOwner(tx, viewer, projectId);
        // Offering a project requires a recent sign-in, because the new owner can change the wallet.
        requireRecentSignIn?.(viewer, 'change `owner`');
        const now = new Date(sharedNow());
        const recipient = await findRecipient(unfiltered(tx), viewer, projectId, input);
        await refuseSecond(tx, project, now);
        await requirePace(tx, viewer, now);
        const { subject } = await tx.user.findUniqueOrThrow({ where: ownAccount(viewer) });
        const transfer = await tx.projectTransfer.create({
          data: {
            id: newId('ProjectTransfer'),
            projectId: project.id,
            ...recipient,
            createdAt: now,
            offeredById: viewer.userId,
            offeredByName: (viewer.kind === 'user' && viewer.email) || subject,
            expiresAt: new Date(now.getTime() + LIFETIME_DAYS * DAY_MILLISECONDS),
          },
        });
        if (canSendEmail) await writeOfferMail(unfiltered(tx), { transfer, projectName: project.name, url });
        const { userId, email } = recipient;
        const target = { projectId, targetId: transfer.id };
        await recordAudit(tx, viewer, { action: 'transfer.offered', ...target, changes: { userId, email } });
        return transfer;
      });
      return creation.catch(rethrowProjectGone);
    },

    /** Withdraws a project's open offer, effective immediately. */
    async withdraw(viewer: Viewer, projectId: string): Promise<void> {
      await db.prisma.$transaction(async (tx) => {
        await lockAsOwner(tx, viewer, projectId);
        if (!(await withdrawOffers(unfiltered(tx), viewer, { projectId }))) throw notFound();
      });
    },

    /**
     * Makes the viewer the owner. From then on, the viewer's limits apply, and the previous owner is an admin. The wallet
     * stays the same.
     *
     * @throws AppError `NOT_FOUND` unless the offer is open and for the viewer, and the same errors as `changeOwner`.
     */
    async accept(viewer: Viewer, id: string): Promise<Project> {
      const { project, previousId } = await db.prisma.$transaction(async (tx) =>
        changeOwner(unfiltered(tx), viewer, await endOffer(tx, viewer, id, 'ACCEPTED')),
      );
      for (const userId of [viewer.userId, previousId]) bus.publish(topics.membershipsChanged(userId));
      rememberVisible(viewer, [project]);
      return project;
    },

    /** Declines an offer. Throws AppError `NOT_FOUND`, like `accept`. */
    async decline(viewer: Viewer, id: string): Promise<void> {
      await db.prisma.$transaction(async (tx) => {
        const { projectId, userId, email } = await endOffer(tx, viewer, id, 'DECLINED');
        const target = { projectId, targetId: id };
        await recordAudit(tx, viewer, { action: 'transfer.declined', ...target, changes: { userId, email } });
      });
    },
  };
}

const open = () => ({ status: 'PENDING' as const, expiresAt: { gt: new Date(sharedNow()) } });

/** The open offers that a person can respond to: offers to them as a member, and offers to their verified address. */
function addressedTo(viewer: Viewer): Prisma.ProjectTransferWhereInput & TenantFilter {
  if (viewer.kind === 'apiKey') return marked({ AND: [{ id: { in: [] } }] });
  const { userId, email } = viewer;
  return marked({ ...open(), OR: [{ userId }, ...(email === undefined ? [] : [{ userId: null, email }])] });
}

/** The offers that the viewer can see: offers of their projects, and offers that they can respond to. */
export function visibleTransfers(viewer: Viewer) {
  return marked({ OR: [inVisibleProject(viewer), addressedTo(viewer)] });
}

/** Ends an offer to the viewer. The project's lock keeps the offer from being answered or withdrawn twice. */
async function endOffer(
  tx: TenantTransaction,
  viewer: Viewer,
  id: string,
  status: 'ACCEPTED' | 'DECLINED',
): Promise<ProjectTransfer> {
  const where = { ...addressedTo(viewer), id: requireId('ProjectTransfer', id) };
  const found = await tx.projectTransfer.findFirst({ where });
  if (!found) throw notFound();
  await lockProject(tx, belongingTo(found, { id: found.projectId }), found.projectId);
  const data = { status, endedAt: new Date(sharedNow()) };
  const [ended] = await tx.projectTransfer.updateManyAndReturn({ where, data });
  if (!ended) throw notFound();
  return ended;
}

async function refuseSecond(tx: TenantTransaction, project: Project, now: Date): Promise<void> {
  const pending = { projectId: project.id, status: 'PENDING' as const };
  await tx.projectTransfer.updateMany({
    where: belongingTo(project, { ...pending, expiresAt: { lte: now } }),
    data: { status: 'EXPIRED', endedAt: now },
  });
  const other = await tx.projectTransfer.findFirst({ where: belongingTo(project, pending) });
  if (!other) return;
  const detail = `The project has already been offered to ${other.name}. Withdraw that offer before you make another one.`;
  throw new AppError('CONFLICT', { detail });
}

async function requirePace(tx: TenantTransaction, { userId }: Viewer, now: Date): Promise<void> {
  const since = now.getTime() - DAY_MILLISECONDS;
  const oldest = await unfiltered(tx).projectTransfer.findFirst({
    where: { offeredById: userId, createdAt: { gt: new Date(since) } },
    orderBy: { createdAt: 'desc' },
    skip: MAX_PER_ACCOUNT_AND_DAY - 1,
  });
  if (!oldest) return;
  throw new AppError('RATE_LIMITED', {
    detail: `You can offer projects up to ${MAX_PER_ACCOUNT_AND_DAY} times in 24 hours. Wait for the number of seconds in \`Retry-After\`.`,
    retryAfterSeconds: Math.max(1, Math.ceil((oldest.createdAt.getTime() - since) / 1000)),
  });
}
