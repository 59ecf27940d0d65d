import { z } from 'zod';
import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { requireVisible, visibleProject } from '../../auth/access.ts';
import type { RequireRecentSignIn } from '../../auth/recent-sign-in.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import type { ProjectAllow } from '../../config/project-allow.ts';
import { type TenantDatabase, type TenantTransaction, unfiltered } from '../../database/tenant-client.ts';
import { belongingTo, sameRow, type VisibleProjectId, visibleIdOf } from '../../database/tenant-filter.ts';
import { notFound } from '../../errors.ts';
import type { Connector, Project, ProjectMode, Webhook } from '../../generated/prisma/client.ts';
import { isId, newId } from '../../ids.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { lineOfText, parseInput } from '../../validation.ts';
import { requireConnectorQuota } from '../connectors/quota.ts';
import { createdEvent } from '../endpoints/created-event.ts';
import { requireEndpointQuota } from '../endpoints/quota.ts';
import { countedBytesIn, takeSchemas } from '../endpoints/schema-limit.ts';
import { auditedOf as auditedEndpoint } from '../endpoints/service.ts';
import type { EventService } from '../events/service.ts';
import { queueForHosts } from '../projects/host-names.ts';
import { milestonesUsdOf } from '../projects/milestones.ts';
import { modeInput, type NetworkRules, networksInput } from '../projects/networks.ts';
import { confirmProjectQuota, requireProjectQuota } from '../projects/quota.ts';
import { pickSlug, REUSE_SLUG } from '../projects/slugs.ts';
import { startSummaryPeriod } from '../projects/summary-period.ts';
import { walletAddressInput } from '../projects/wallet-address.ts';
import { requireWebhookQuota } from '../webhooks/quota.ts';
import { connectorCopy, endpointCopy, webhookCopy } from './copied-values.ts';

/** Checks what differs in the copy. */
export const copyInput = z.strictObject({
  name: lineOfText(200),
  walletAddress: walletAddressInput,
  mode: modeInput,
  networks: networksInput.nullish(),
});

export type CopyProjectInput = { name: string; walletAddress: string; mode: ProjectMode; networks?: string[] | null };
export type ProjectCopyService = ReturnType<typeof createProjectCopyService>;

type Source = Project & { endpointIds: string[]; webhooks: Webhook[]; connectors: Connector[] };

/**
 * The maximum number of endpoints in memory at the same time. Each can have 64 KB of JSON, which uses much more memory
 * as objects.
 */
const ENDPOINTS_AT_ONCE = 25;

/**
 * Copies projects, for example, a test project to a live one. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`,
 * `PROJECT_LIMIT_REACHED`, `ENDPOINT_LIMIT_REACHED`, `SCHEMA_LIMIT_REACHED`, `WEBHOOK_LIMIT_REACHED`,
 * `CONNECTOR_LIMIT_REACHED`, and `FORBIDDEN` for API keys.
 *
 * @param options `gatewayDomain`: the domain under which each project gets a name, if there is one.
 */
export function createProjectCopyService(options: {
  db: TenantDatabase;
  bus: Bus;
  events: EventService;
  secretBox: SecretBox;
  networkRules: NetworkRules;
  upstreamAllow: ProjectAllow;
  gatewayDomain: string | undefined;
  /** The rule for using a released name again. Default: none. */
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, events, secretBox, networkRules, upstreamAllow, gatewayDomain, requireRecentSignIn } = options;

  async function copyEndpoints(
    tx: TenantTransaction,
    viewer: Viewer,
    source: Source,
    projectId: VisibleProjectId,
  ): Promise<void> {
    const allow = upstreamAllow.of(projectId);
    await requireEndpointQuota(unfiltered(tx), projectId, source.endpointIds.length);
    for (let first = 0; first < source.endpointIds.length; first += ENDPOINTS_AT_ONCE) {
      const id = { in: source.endpointIds.slice(first, first + ENDPOINTS_AT_ONCE) };
      const originals = await tx.endpoint.findMany({ where: belongingTo(source, { id }), orderBy: { id: 'asc' } });
      const copies = originals.map((original) => endpointCopy(source, original, projectId, allow));
      await tx.endpoint.createMany({ data: copies.map(({ data }) => data) });
      for (const { endpoint } of copies) {
        await events.record(tx, createdEvent(endpoint));
        const { changes } = changesBetween(undefined, auditedEndpoint(endpoint));
        await recordAudit(tx, viewer, { action: 'endpoint.created', projectId, targetId: endpoint.id, changes });
      }
    }
  }

  async function copyDestinations(
    tx: TenantTransaction,
    viewer: Viewer,
    source: Source,
    projectId: VisibleProjectId,
  ): Promise<void> {
    for (const webhook of source.webhooks) {
      const data = webhookCopy(webhook, projectId, secretBox);
      await tx.webhook.create({ data });
      const { name, url, eventTypes, isActive } = data;
      const changes = { name, url, eventTypes, isActive };
      await recordAudit(tx, viewer, { action: 'webhook.created', projectId, targetId: data.id, changes });
    }
    for (const connector of source.connectors) {
      const data = connectorCopy(connector, projectId, secretBox);
      await tx.connector.create({ data });
      const { name, type, config, eventTypes, isActive } = data;
      const changes = { name, type, config, eventTypes, isActive };
      await recordAudit(tx, viewer, { action: 'connector.created', projectId, targetId: data.id, changes });
    }
  }

  return {
    /** How many endpoints, webhooks, and connectors a project has. 0 if the viewer can't see it. */
    async countContents(viewer: Viewer, projectId: string): Promise<number> {
      if (!isId('Project', projectId)) return 0;
      const project = await db.prisma.project.findFirst({
        where: visibleProject(viewer, projectId),
        select: { _count: { select: { endpoints: true, webhooks: true, connectors: true } } },
      });
      const { endpoints = 0, webhooks = 0, connectors = 0 } = project?._count ?? {};
      return endpoints + webhooks + connectors;
    },

    /**
     * Creates a project with copies of another project's endpoints, webhooks, connectors, milestones, time zone, and buyer
     * rules, in one transaction. Secrets, API keys, the gateway host, and history aren't copied. Webhooks, connectors, and endpoints
     * that need a secret start disabled. The copy gets its name under the gateway domain last, so that setting a host
     * never has to wait while a large project is copied.
     */
    async copy(viewer: Viewer, projectId: string, input: CopyProjectInput): Promise<Project> {
      const { mode: asked, networks: names, ...identity } = parseInput(copyInput, input);
      const mode = networkRules.newMode(asked);
      const networks = networkRules.idsOf(names ?? [], { mode });
      const where = visibleProject(viewer, projectId);
      const bytes = await countedBytesIn(db.pool, await requireVisible(db.prisma, viewer, projectId));
      const giveBack = await takeSchemas(db.pool, viewer, bytes);
      const copying = db.prisma.$transaction(async (tx) => {
        const project = await tx.project.findFirst({ where });
        if (!project) throw notFound();
        await requireProjectQuota(unfiltered(tx), project.userId);
        const source = await withContents(tx, project);
        await requireConnectorQuota(unfiltered(tx), viewer, source, source.connectors.length);
        const { userId, milestonesAtomic, timeZone, description, iconUrl, contact } = source;
        const values = { ...identity, mode, networks, timeZone, description, iconUrl, contact };
        const created = await tx.project.create({
          data: { id: newId('Project'), userId, ...values, milestonesAtomic },
        });
        await startSummaryPeriod(unfiltered(tx), created);
        await copyBuyerRules(tx, source, visibleIdOf(created));
        await requireWebhookQuota(unfiltered(tx), viewer, created.id, source.webhooks.length);
        const entryId = newId('AuditEntry');
        // Endpoints are copied before destinations, so their events aren't sent to anyone.
        await copyEndpoints(tx, viewer, source, visibleIdOf(created));
        await copyDestinations(tx, viewer, source, visibleIdOf(created));
        const named = gatewayDomain ? await giveSlug(tx, viewer, created, requireRecentSignIn) : created;
        await confirmProjectQuota(unfiltered(tx), userId);
        await recordAudit(tx, viewer, {
          id: entryId,
          action: 'project.created',
          projectId: created.id,
          targetId: created.id,
          changes: { ...values, slug: named.slug, milestonesUsd: milestonesUsdOf(created), copiedFrom: source.id },
        });
        return named;
      });
      const copy = await copying.catch(giveBack);
      events.announce(copy.id);
      if (copy.slug) bus.publish(topics.gatewayHosts);
      return copy;
    },
  };
}

/** Reads a project's contents, oldest first. The queries run one after the other because they share a connection. */
async function withContents(tx: TenantTransaction, project: Project): Promise<Source> {
  const contents = { where: belongingTo(project, { projectId: project.id }), orderBy: { id: 'asc' as const } };
  const endpoints = await tx.endpoint.findMany({ ...contents, select: { id: true } });
  const endpointIds = endpoints.map(({ id }) => id);
  const webhooks = await tx.webhook.findMany(contents);
  return { ...project, endpointIds, webhooks, connectors: await tx.connector.findMany(contents) };
}

/** Copies which wallets may pay, and how much. The copy counts their payments from zero. */
async function copyBuyerRules(tx: TenantTransaction, source: Project, projectId: VisibleProjectId): Promise<void> {
  const rules = await tx.buyerRules.findFirst({ where: belongingTo(source, { projectId: source.id }) });
  if (rules) await tx.buyerRules.create({ data: { ...rules, projectId } });
}

/** Gives a project a name under the gateway domain. No other transaction can set a host until this one ends. */
async function giveSlug(
  tx: TenantTransaction,
  viewer: Viewer,
  project: Project,
  requireRecentSignIn: RequireRecentSignIn | undefined,
): Promise<Project> {
  await queueForHosts(unfiltered(tx), viewer.userId);
  const { slug, isReleased } = await pickSlug(unfiltered(tx), project.name, project.userId);
  if (isReleased) requireRecentSignIn?.(viewer, REUSE_SLUG);
  return tx.project.update({ where: sameRow(project), data: { slug } });
}
