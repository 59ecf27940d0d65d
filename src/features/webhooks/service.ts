import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { visibleItem, visibleProjectId } from '../../auth/access.ts';
import { lockVisible } from '../../auth/lock-visible.ts';
import { requireCredentials } from '../../auth/require-permission.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { ProjectAllow } from '../../config/project-allow.ts';
import { createPages, type PageQuery, pageStatements } from '../../database/pages.ts';
import { type TenantDatabase, unfiltered } from '../../database/tenant-client.ts';
import { sameRow } from '../../database/tenant-filter.ts';
import { mayChangeWaiting } from '../../delivery/queue/bulk-changes.ts';
import { releaseWaiting } from '../../delivery/queue/ordering.ts';
import { newWebhookSecret } from '../../delivery/send/signing.ts';
import { notFound } from '../../errors.ts';
import { type EventType, expandEventTypes } from '../../events/types.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions } from '../../events/versions.ts';
import type { Delivery, Prisma, Webhook } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import { softDeleteWebhooks } from '../deletions/soft-delete.ts';
import {
  type DestinationFilter,
  HEALTHY,
  matchingDestinations,
  switched,
  testEventInput,
} from '../destinations/input.ts';
import { applyPause, pauseChange, pausedColumns } from '../destinations/pausing.ts';
import type { EventService } from '../events/service.ts';
import { overlapEnd, overlapInput } from '../rotation/overlap.ts';
import { createWebhookUrls } from '../urls/project-url.ts';
import { urlToStore } from '../urls/stored-url.ts';
import { type CreateWebhookInput, createWebhookInputs, type UpdateWebhookInput } from './input.ts';
import { requireWebhookQuota, webhookQuota } from './quota.ts';
import { auditedCredentials, CREDENTIAL_FIELDS, createStoredCredentials, forgetToken } from './stored-credentials.ts';

const PAGES = pageStatements('webhooks', 'Webhook');

export type WebhookService = ReturnType<typeof createWebhookService>;

/**
 * A project's webhooks. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, and `WEBHOOK_LIMIT_REACHED`.
 * Signing secrets are returned only when they are created.
 */
export function createWebhookService(options: {
  db: TenantDatabase;
  bus: Bus;
  payloadVersions?: PayloadVersions;
  events: EventService;
  secretBox: SecretBox;
  webhookAllow: ProjectAllow;
}) {
  const { db, bus, events, secretBox, payloadVersions = PAYLOAD_VERSIONS } = options;
  const storedCredentials = createStoredCredentials({ secretBox, webhookAllow: options.webhookAllow });
  const urls = createWebhookUrls(options.webhookAllow);
  const { createInput, updateInput } = createWebhookInputs(urls, payloadVersions);

  const pages = createPages({
    db: db.pool,
    statements: PAGES,
    find: (query: Omit<Prisma.WebhookFindManyArgs, 'where' | 'take'>, which) =>
      db.prisma.webhook.findMany({ ...query, ...which, orderBy: { id: 'desc' } }),
  });

  return {
    async list(
      viewer: Viewer,
      projectId: string,
      filter: DestinationFilter,
      query: Prisma.WebhookFindManyArgs & PageQuery,
    ): Promise<Webhook[]> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.load(viewer, visible, query, matchingDestinations('Webhook', filter)) : [];
    },

    /** The number of items in the list. Null if there are more than `COUNT_LIMIT`. */
    async count(viewer: Viewer, projectId: string, filter: DestinationFilter): Promise<number | null> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.count(viewer, visible, matchingDestinations('Webhook', filter)) : 0;
    },

    /** How many more webhooks the project can have. Null means unlimited. */
    quota: (viewer: Viewer, projectId: string) => webhookQuota(unfiltered(db.prisma), viewer, projectId),

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.WebhookFindFirstArgs = {},
    ): Promise<Webhook | null> {
      return db.prisma.webhook.findFirst({ ...query, where: visibleItem(viewer, 'Webhook', id, projectId) });
    },

    async create(
      viewer: Viewer,
      projectId: string,
      input: CreateWebhookInput,
    ): Promise<{ webhook: Webhook; secret: string }> {
      const project = await requireProject(db.prisma, viewer, projectId);
      const { headers, authentication, clientCertificate, certificateAuthority, ...rest } = parseInput(
        createInput,
        input,
      );
      const given = { headers, authentication, clientCertificate, certificateAuthority };
      const { payloadVersion = payloadVersions.current, ...values } = rest;
      urlToStore('url', values.url);
      urls.check(project.id, values.url, '/url');
      const id = newId('Webhook');
      const credentials = storedCredentials.ofNew({ id, projectId: project.id, url: values.url }, given);
      const secret = newWebhookSecret();
      const sealed = secretBox.seal(secret, { table: 'Webhook', column: 'secret', rowId: id, projectId: project.id });
      const webhook = await db.prisma
        .$transaction(async (tx) => {
          await requireWebhookQuota(unfiltered(tx), viewer, project.id, 1);
          const data = {
            ...values,
            ...originOf(values.url),
            id,
            projectId: project.id,
            payloadVersion,
            secret: sealed,
            ...credentials,
          };
          const created = await tx.webhook.create({ data });
          const { changes } = changesBetween(undefined, { ...auditedOf(created), ...auditedCredentials(created) });
          await recordAudit(tx, viewer, { action: 'webhook.created', ...targetOf(created), changes });
          return created;
        })
        .catch(rethrowProjectGone);
      return { webhook, secret };
    },

    /**
     * Changes a webhook. Setting `isActive` to true clears its run of failures and the reason it was disabled. Pausing
     * it holds its deliveries, and resuming it releases them. Changing its headers or authentication ends a pause that
     * the service started. With a new URL, every secret in them must be sent again; see `createCredentialsChange`.
     */
    async update(viewer: Viewer, id: string, input: UpdateWebhookInput, projectId?: string | null): Promise<Webhook> {
      const where = visibleItem(viewer, 'Webhook', id, projectId);
      const { isPaused, headers, authentication, clientCertificate, certificateAuthority, ...values } = parseInput(
        updateInput,
        input,
      );
      const given = { headers, authentication, clientCertificate, certificateAuthority };
      const { webhook, pause, isReordered } = await db.prisma.$transaction(async (tx) => {
        // If two changes are concurrent, each must record the values it actually replaced.
        await lockVisible(tx, viewer, 'webhook-values', id);
        const before = await tx.webhook.findFirst({ where });
        if (!before) throw notFound();
        const url = values.url && urlToStore('url', values.url, before.url);
        const isMoved = url !== undefined && url !== before.url;
        if (isMoved) urls.check(before.projectId, url, '/url');
        if (isMoved || CREDENTIAL_FIELDS.some((name) => given[name] !== undefined))
          requireCredentials(viewer, before.projectId, '`url`, `headers`, `authentication`, or certificates');
        const credentials = storedCredentials.ofChanged(before, given, url);
        const mayFix = credentials !== undefined || values.isActive === true;
        const change = pauseChange({ isPaused, mayFix }, before);
        const updated = await tx.webhook.update({
          where: sameRow(before),
          data: {
            ...values,
            updatedAt: new Date(sharedNow()),
            ...(url && { url, ...originOf(url), ...HEALTHY }),
            ...(credentials && { ...credentials, ...HEALTHY }),
            ...switched(values.isActive),
            ...pausedColumns(change, before),
          },
        });
        if (credentials) await forgetToken(unfiltered(tx), id);
        const { changes, previous } = changesBetween(auditedOf(before), auditedOf(updated));
        await recordAudit(tx, viewer, {
          action: 'webhook.updated',
          ...targetOf(updated),
          changes: { ...changes, ...(credentials && auditedCredentials(updated)) },
          previous: { ...previous, ...(credentials && auditedCredentials(before)) },
        });
        return { webhook: updated, pause: change, isReordered: orderOf(updated) !== orderOf(before) };
      });
      if (values.maxPerSecond !== undefined) bus.publish(topics.paces);
      if (pause !== undefined) await applyPause({ db, bus }, 'webhook', webhook, pause);
      if (isReordered && (await mayChangeWaiting(db.pool, webhook.projectId))) {
        await releaseWaiting(db.pool, id, webhook.ordering !== 'NONE');
        bus.publish(topics.deliveriesDue);
      }
      return webhook;
    },

    async delete(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      const where = visibleItem(viewer, 'Webhook', id, projectId);
      const webhook = await db.prisma.webhook.findFirst({ where });
      if (!webhook) throw notFound();
      await db.prisma.$transaction(async (tx) => {
        if ((await softDeleteWebhooks(tx, where)) === 0) throw notFound();
        await recordAudit(tx, viewer, {
          action: 'webhook.deleted',
          ...targetOf(webhook),
          changes: { url: webhook.url },
        });
      });
      bus.publish(topics.deletions);
    },

    /** Creates a new signing secret. For `overlapHours` (default 24), requests are also signed with the old one. */
    async rotateSecret(
      viewer: Viewer,
      id: string,
      input: { overlapHours?: number | null },
      projectId?: string | null,
    ): Promise<{ webhook: Webhook; secret: string }> {
      const where = visibleItem(viewer, 'Webhook', id, projectId);
      const { overlapHours } = parseInput(overlapInput, input);
      const secret = newWebhookSecret();
      const webhook = await db.prisma.$transaction(async (tx) => {
        await lockVisible(tx, viewer, 'webhook', id);
        const current = await tx.webhook.findFirst({ where });
        if (!current) throw notFound();
        const place = { table: 'Webhook', rowId: id, projectId: current.projectId };
        const old = secretBox.open(current.secret, { ...place, column: 'secret' });
        await recordAudit(tx, viewer, {
          action: 'webhook.secret_rotated',
          ...targetOf(current),
          changes: { overlapHours },
        });
        return tx.webhook.update({
          where: sameRow(current),
          data: {
            updatedAt: new Date(sharedNow()),
            secret: secretBox.seal(secret, { ...place, column: 'secret' }),
            previousSecret: overlapHours > 0 ? secretBox.seal(old, { ...place, column: 'previousSecret' }) : null,
            previousSecretExpiresAt: overlapEnd(overlapHours),
          },
        });
      });
      return { webhook, secret };
    },

    /** Sends an event with a sample payload, marked `"test": true`, only to this webhook. */
    async sendTestEvent(
      viewer: Viewer,
      id: string,
      input: { eventType?: EventType | null },
      projectId?: string | null,
    ): Promise<Delivery> {
      const where = visibleItem(viewer, 'Webhook', id, projectId);
      const { eventType } = parseInput(testEventInput, input);
      const webhook = await db.prisma.webhook.findFirst({ where });
      if (!webhook) throw notFound();
      const type = eventType ?? [...expandEventTypes(webhook.eventTypes)][0]!;
      return events.sendTest(webhook.projectId, type, { webhookId: id });
    },
  };
}

const targetOf = ({ id, projectId }: Webhook) => ({ projectId, targetId: id });

const orderOf = ({ ordering, orderingEscapeAfterAttempts }: Webhook) => `${ordering} ${orderingEscapeAfterAttempts}`;

function auditedOf({ name, url, description, eventTypes, filter, payloadVersion, isActive, ...rest }: Webhook) {
  const { ordering, orderingEscapeAfterAttempts, maxPerSecond, timeoutSeconds, retrySchedule, pausedAt } = rest;
  const how = {
    payloadVersion,
    ordering,
    orderingEscapeAfterAttempts,
    maxPerSecond,
    timeoutSeconds,
    retrySchedule,
  };
  return { name, url, description, eventTypes, filter, ...how, isActive, isPaused: pausedAt !== null };
}

/** Workers count requests by origin, which is the same for all spellings of a URL's scheme, host, and port. */
function originOf(url: string): { origin: string } {
  return { origin: new URL(url).origin };
}
