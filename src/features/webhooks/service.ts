import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { isVisible, visibleItem } from '../../auth/access.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database } from '../../database/client.ts';
import { createPages, type PageQuery } from '../../database/pages.ts';
import { releaseWaiting } from '../../delivery/flow/ordering.ts';
import { newWebhookSecret } from '../../delivery/send/signing.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { AppError, notFound } from '../../errors.ts';
import { type EventKind, expandEventTypes } from '../../events/kinds.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions } from '../../events/versions.ts';
import type { Delivery, Prisma, Webhook } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { limitsOf } from '../../limits/tiers.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import { buryWebhooks } from '../deletions/bury.ts';
import { HEALTHY, switched, testEventInput } from '../destinations/input.ts';
import { applyPause, pauseChange, pausedColumns } from '../destinations/pausing.ts';
import type { EventService } from '../events/service.ts';
import { urlToStore } from '../urls/stored-url.ts';
import { type CreateWebhookInput, createWebhookInputs, rotateInput, type UpdateWebhookInput } from './input.ts';
import { auditedCredentials, createStoredCredentials, forgetToken } from './stored-credentials.ts';

export type WebhookService = ReturnType<typeof createWebhookService>;

/**
 * A project's webhooks. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, and `WEBHOOK_LIMIT_REACHED`.
 * Signing secrets are returned only when they are created.
 */
export function createWebhookService(options: {
  db: Database;
  bus: Bus;
  payloadVersions?: PayloadVersions;
  events: EventService;
  secretBox: SecretBox;
  egressAllow: EgressAllow;
}) {
  const { db, bus, events, secretBox, payloadVersions = PAYLOAD_VERSIONS } = options;
  const storedCredentials = createStoredCredentials({ secretBox, egressAllow: options.egressAllow });
  const { createInput, updateInput } = createWebhookInputs(options.egressAllow, payloadVersions);

  const pages = createPages({
    db: db.pool,
    table: 'Webhook',
    find: (query: Omit<Prisma.WebhookFindManyArgs, 'where' | 'take'>, which) =>
      db.prisma.webhook.findMany({ ...query, ...which, orderBy: { id: 'desc' } }),
  });

  return {
    async list(viewer: Viewer, projectId: string, query: Prisma.WebhookFindManyArgs & PageQuery): Promise<Webhook[]> {
      return (await isVisible(db.prisma, viewer, projectId)) ? pages.load(viewer, projectId, query) : [];
    },

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
      const { headers, authentication, ...rest } = parseInput(createInput, input);
      const { payloadVersion = payloadVersions.current, ...values } = rest;
      urlToStore('url', values.url);
      const id = newId('Webhook');
      const credentials = storedCredentials.ofNew({ id, projectId: project.id }, { headers, authentication });
      const secret = newWebhookSecret();
      const sealed = secretBox.seal(secret, { table: 'Webhook', column: 'secret', rowId: id, projectId: project.id });
      const webhook = await db.prisma
        .$transaction(async (tx) => {
          await requireRoom(tx, viewer, project.id);
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
     * Changes a webhook. Setting `isActive` to true clears its run of failures and the reason why it was disabled.
     * Pausing it holds its deliveries, and resuming it releases them. Changing its headers or authentication ends a pause
     * that the service made. A new URL requires every secret in them again; see `createCredentialsChange`.
     */
    async update(viewer: Viewer, id: string, input: UpdateWebhookInput, projectId?: string | null): Promise<Webhook> {
      const where = visibleItem(viewer, 'Webhook', id, projectId);
      const { isPaused, headers, authentication, ...values } = parseInput(updateInput, input);
      const { webhook, pause } = await db.prisma.$transaction(async (tx) => {
        // Of two concurrent changes, each must record the values it actually replaced.
        await tx.$queryRaw`SELECT 1 FROM "Webhook" WHERE "id" = ${id} FOR NO KEY UPDATE`;
        const before = await tx.webhook.findFirst({ where });
        if (!before) throw notFound();
        const url = values.url && urlToStore('url', values.url, before.url);
        const credentials = storedCredentials.ofChanged(before, { headers, authentication }, url);
        const mayFix = credentials !== undefined || values.isActive === true;
        const change = pauseChange({ isPaused, mayFix }, before);
        const updated = await tx.webhook.update({
          where: { id },
          data: {
            ...values,
            updatedAt: new Date(sharedNow()),
            ...(url && { url, ...originOf(url), ...HEALTHY }),
            ...(credentials && { ...credentials, ...HEALTHY }),
            ...switched(values.isActive),
            ...pausedColumns(change, before),
          },
        });
        if (credentials) await forgetToken(tx, id);
        const { changes, previous } = changesBetween(auditedOf(before), auditedOf(updated));
        await recordAudit(tx, viewer, {
          action: 'webhook.updated',
          ...targetOf(updated),
          changes: { ...changes, ...(credentials && auditedCredentials(updated)) },
          previous: { ...previous, ...(credentials && auditedCredentials(before)) },
        });
        return { webhook: updated, pause: change };
      });
      if (values.maxPerSecond !== undefined) bus.publish(topics.paces);
      if (pause !== undefined) await applyPause({ db, bus }, 'webhook', webhook, pause);
      if (values.ordering || values.orderingEscapeAfterAttempts) {
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
        if ((await buryWebhooks(tx, where)) === 0) throw notFound();
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
      const { overlapHours } = parseInput(rotateInput, input);
      const secret = newWebhookSecret();
      const webhook = await db.prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1 FROM "Webhook" WHERE "id" = ${id} FOR UPDATE`;
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
          where: { id },
          data: {
            updatedAt: new Date(sharedNow()),
            secret: secretBox.seal(secret, { ...place, column: 'secret' }),
            previousSecret: overlapHours > 0 ? secretBox.seal(old, { ...place, column: 'previousSecret' }) : null,
            previousSecretExpiresAt: overlapHours > 0 ? new Date(sharedNow() + overlapHours * 3_600_000) : null,
          },
        });
      });
      return { webhook, secret };
    },

    /** Sends an event with a sample payload, marked `"test": true`, only to this webhook. */
    async sendTestEvent(
      viewer: Viewer,
      id: string,
      input: { eventType?: EventKind | null },
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

/** Throws if the project has no room for another webhook. Existing webhooks that exceed the limit stay. */
async function requireRoom(tx: Prisma.TransactionClient, viewer: Viewer, projectId: string): Promise<void> {
  const { maxWebhooksPerProject: most } = limitsOf(viewer.tier, viewer.requestsPerMinute);
  if (most === null) return;
  // Without the lock, two concurrent creations could exceed the limit.
  await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${projectId} FOR NO KEY UPDATE`;
  if ((await tx.webhook.count({ where: { projectId } })) < most) return;
  const detail = `Your tier includes ${most} webhooks per project, and this project already has that many. Delete one or upgrade to a higher tier.`;
  throw new AppError('WEBHOOK_LIMIT_REACHED', { detail });
}

const targetOf = ({ id, projectId }: Webhook) => ({ projectId, targetId: id });

function auditedOf({ url, description, eventTypes, filter, payloadVersion, isActive, ...rest }: Webhook) {
  const { ordering, orderingEscapeAfterAttempts, maxPerSecond, timeoutSeconds, retrySchedule, pausedAt } = rest;
  const how = {
    ...{ payloadVersion, ordering, orderingEscapeAfterAttempts },
    ...{ maxPerSecond, timeoutSeconds, retrySchedule },
  };
  return { url, description, eventTypes, filter, ...how, isActive, isPaused: pausedAt !== null };
}

/** Workers count requests by origin, which is the same for all spellings of a URL's scheme, host, and port. */
function originOf(url: string): { origin: string } {
  return { origin: new URL(url).origin };
}
