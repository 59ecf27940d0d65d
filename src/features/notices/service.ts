import { z } from 'zod';
import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { inProject, requireId, visibleItem } from '../../auth/access.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { sharedNow } from '../../clock.ts';
import { type Period, timeIn } from '../../database/created-between.ts';
import { distinct } from '../../database/distinct.ts';
import { lockForUpdate } from '../../database/locks.ts';
import type { TenantDatabase, TenantTransaction } from '../../database/tenant-client.ts';
import { ofProject, sameRow } from '../../database/tenant-filter.ts';
import { newWebhookSecret } from '../../delivery/send/signing.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { invalidField, notFound } from '../../errors.ts';
import type { Notice, NoticeContacts, Prisma } from '../../generated/prisma/client.ts';
import { typeOfId } from '../../ids.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import { urlToStore } from '../urls/stored-url.ts';
import { contactCell, contactsInput, openContacts } from './contacts.ts';
import { type NoticeType, noticePath } from './types.ts';

export type NoticeFilterInput = Period & {
  types?: readonly NoticeType[] | null;
  subjectId?: string | null;
  isRead?: boolean | null;
  isOpen?: boolean | null;
};
/** A project's contacts as the API returns them: URLs are masked, and the secret is left out. */
export type ShownContacts = {
  /** The project's ID. */
  id: string;
  emails: string[];
  webhookUrl: string | null;
  slackUrl: string | null;
  weeklyDigest: boolean;
  canSendEmail: boolean;
};
export type ContactsInput = {
  emails?: string[] | null;
  webhookUrl?: string | null;
  slackUrl?: string | null;
  weeklyDigest?: boolean | null;
};
const MAX_READ_AT_ONCE = 100;
/** Checks which notices to mark as read. */
export const readInput = z.strictObject({
  ids: z.array(z.string()).min(1).max(MAX_READ_AT_ONCE, `Must have at most ${MAX_READ_AT_ONCE} entries.`).nullish(),
});

export type NoticeService = ReturnType<typeof createNoticeService>;

/**
 * A project's notices and contacts. Methods throw AppError `NOT_FOUND` and `VALIDATION_FAILED`.
 *
 * @param options `publicUrl`: the console's URL, if known. `canSendEmail`: whether the operator has set up
 *   email.
 */
export function createNoticeService(options: {
  db: TenantDatabase;
  secretBox: SecretBox;
  egressAllow: EgressAllow;
  publicUrl: string | undefined;
  canSendEmail: boolean;
}) {
  const { db, secretBox, egressAllow, publicUrl, canSendEmail } = options;
  const contactsShape = contactsInput(egressAllow);
  function shown(id: string, row: NoticeContacts | null): ShownContacts {
    const { emails, webhookUrl, slackUrl } = openContacts(secretBox, row);
    const masked = (url: string) => (url === '' ? null : maskUrl(url));
    const weeklyDigest = row?.weeklyDigest ?? true;
    return { id, emails, webhookUrl: masked(webhookUrl), slackUrl: masked(slackUrl), weeklyDigest, canSendEmail };
  }

  return {
    /** A project's notices, newest first. */
    async list(
      viewer: Viewer,
      projectId: string,
      filter: NoticeFilterInput,
      query: Prisma.NoticeFindManyArgs,
    ): Promise<Notice[]> {
      const { types, subjectId, isRead, isOpen, ...period } = filter;
      if (subjectId && !typeOfId(subjectId)) throw invalidField('/subjectId', 'Must be a resource ID.');
      const times = timeIn(period);
      return db.prisma.notice.findMany({
        ...query,
        where: {
          AND: [
            await inProject(db.prisma, viewer, projectId),
            query.where ?? {},
            types ? { type: { in: distinct(types) } } : {},
            subjectId ? { subjectId } : {},
            times ? { firstAt: times } : {},
            isRead == null ? {} : { readAt: isRead ? { not: null } : null },
            isOpen == null ? {} : { closedAt: isOpen ? null : { not: null } },
          ],
        },
        orderBy: { id: 'desc' },
      });
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.NoticeFindFirstArgs = {},
    ): Promise<Notice | null> {
      return db.prisma.notice.findFirst({ ...query, where: visibleItem(viewer, 'Notice', id, projectId) });
    },

    /** The number of unread notices in a project. */
    async unreadCount(viewer: Viewer, projectId: string): Promise<number> {
      return db.prisma.notice.count({ where: { ...(await inProject(db.prisma, viewer, projectId)), readAt: null } });
    },

    /**
     * The URL of the console page that shows the cause of a notice, or only its path if the console's address isn't
     * known.
     */
    urlOf: (notice: Notice): string => `${publicUrl ?? ''}${noticePath(notice)}`,

    /**
     * Marks all notices as read, or only those with the given IDs, which must all exist. Returns how many were unread.
     */
    async markRead(viewer: Viewer, projectId: string, input: { ids?: string[] | null }): Promise<number> {
      const { ids } = parseInput(readInput, input);
      const project = await requireProject(db.prisma, viewer, projectId);
      const where = { ...ofProject(project.id), ...(ids && { id: { in: ids.map((id) => requireId('Notice', id)) } }) };
      if (ids && (await db.prisma.notice.count({ where })) < new Set(ids).size) throw notFound();
      const now = new Date(sharedNow());
      const { count } = await db.prisma.notice.updateMany({
        where: { ...where, readAt: null },
        data: { readAt: now, updatedAt: now },
      });
      return count;
    },

    /** A project's contacts. */
    async contacts(viewer: Viewer, projectId: string): Promise<ShownContacts> {
      const where = await inProject(db.prisma, viewer, projectId);
      return shown(projectId, await db.prisma.noticeContacts.findFirst({ where }));
    },

    /**
     * Changes a project's contacts. Omitted values stay unchanged. Null or an empty URL removes a contact, and a
     * masked URL keeps it. A new webhook URL gets a new secret.
     *
     * @returns the secret if it is new. It isn't shown again.
     */
    async updateContacts(
      viewer: Viewer,
      projectId: string,
      input: ContactsInput,
    ): Promise<{ contacts: ShownContacts; webhookSecret: string | null }> {
      requireId('Project', projectId);
      const changes = parseInput(contactsShape, input);
      return db.prisma.$transaction((tx) => change(tx)).catch(rethrowProjectGone);

      async function change(tx: TenantTransaction) {
        const project = await requireProject(tx, viewer, projectId);
        await tx.noticeContacts.createMany({
          data: { id: project.id, projectId: project.id },
          skipDuplicates: true,
        });
        await lockForUpdate(tx, 'notice-contacts', projectId);
        const before = await tx.noticeContacts.findUniqueOrThrow({ where: sameRow(project) });
        const opened = openContacts(secretBox, before);
        const kept = (field: 'webhookUrl' | 'slackUrl') =>
          changes[field] === undefined ? opened[field] : urlToStore(field, changes[field] ?? '', opened[field]);
        const [webhookUrl, slackUrl] = [kept('webhookUrl'), kept('slackUrl')];
        const newSecret = webhookUrl !== '' && webhookUrl !== opened.webhookUrl ? newWebhookSecret() : null;
        const webhookSecret = webhookUrl === '' ? '' : (newSecret ?? opened.webhookSecret);
        const seal = (column: 'webhookUrl' | 'webhookSecret' | 'slackUrl', value: string) =>
          value === '' ? '' : secretBox.seal(value, contactCell(projectId, column));
        const row = await tx.noticeContacts.update({
          where: sameRow(project),
          data: {
            ...(changes.emails && { emails: changes.emails }),
            ...(changes.weeklyDigest != null && { weeklyDigest: changes.weeklyDigest }),
            webhookUrl: seal('webhookUrl', webhookUrl),
            webhookSecret: seal('webhookSecret', webhookSecret),
            slackUrl: seal('slackUrl', slackUrl),
            updatedAt: new Date(sharedNow()),
          },
        });
        const { emails, weeklyDigest } = row;
        await recordAudit(tx, viewer, {
          action: 'contacts.updated',
          projectId,
          targetId: projectId,
          ...changesBetween(
            { ...opened, emails: before.emails, weeklyDigest: before.weeklyDigest },
            { emails, webhookUrl, slackUrl, weeklyDigest },
          ),
        });
        return { contacts: shown(projectId, row), webhookSecret: newSecret };
      }
    },
  };
}
