import { isDeepStrictEqual } from 'node:util';
import { changesBetween } from '../../audit/diff.ts';
import { recordAudit } from '../../audit/record.ts';
import { rememberVisible, requireId, visibleProject, visibleProjects } from '../../auth/access.ts';
import { lockVisible } from '../../auth/lock-visible.ts';
import { VALUE_PERMISSIONS } from '../../auth/permissions.ts';
import type { RequireRecentSignIn } from '../../auth/recent-sign-in.ts';
import { requirePermission } from '../../auth/require-permission.ts';
import { requireProject } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { ProjectAllow } from '../../config/project-allow.ts';
import { COUNT_AT_MOST, exactCount } from '../../database/count-limit.ts';
import { createdBetween, type Period } from '../../database/created-between.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { type TenantDatabase, unfiltered } from '../../database/tenant-client.ts';
import { sameRow } from '../../database/tenant-filter.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Network } from '../../gateway/chain/networks.ts';
import type { Prisma, Project } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import { softDeleteProject } from '../deletions/soft-delete.ts';
import { createUpstreamUrls } from '../urls/project-url.ts';
import { findProject } from './find.ts';
import type { HostRules } from './gateway-host.ts';
import { lockHost, queueForHosts, releaseHost } from './host-names.ts';
import { hostColumns, moveHosts, shownHost } from './hosts/claims.ts';
import { type CreateProjectInput, createProjectInputs, type UpdateProjectInput } from './input.ts';
import { milestonesUsdOf } from './milestones.ts';
import { createNetworkRules } from './networks.ts';
import { confirmProjectQuota } from './quota.ts';
import { moveSlug, pickSlug, REUSE_SLUG, releaseSlug } from './slugs.ts';
import { moveSummaryPeriod, startSummaryPeriod } from './summary-period.ts';
import { knownTimeZone } from './time-zone.ts';
import {
  auditedProjectHeaders,
  checkHeaderUrls,
  ONLY_THE_OWNER_SETS_HEADERS,
  projectHeaderColumns,
} from './upstream-headers.ts';

const ONLY_THE_OWNER =
  'API keys cannot change `walletAddress`, `networks`, `gatewayHost`, or `slug`, because they determine who is paid. Use the project owner’s user token. With the WRITE scope, API keys can change the project’s other fields.';

export type ProjectService = ReturnType<typeof createProjectService>;

/**
 * A user's projects. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, `PROJECT_LIMIT_REACHED`, `CONFLICT` for
 * another project's host name, `HOST_RESERVED` for one that another account released, and `FORBIDDEN` for values that
 * only people can change.
 *
 * @param options `networks`: the networks that the server supports, if known. `hostRules`: which host names projects
 *   can't have. `gatewayDomain`: the domain under which each project gets a name, if there is one.
 *   `requireRecentSignIn`: the rule for changing the wallet and the domains. Default: none.
 */
export function createProjectService(options: {
  db: TenantDatabase;
  bus: Bus;
  networks: readonly Network[];
  hostRules: HostRules;
  upstreamAllow: ProjectAllow;
  secretBox: SecretBox;
  gatewayDomain?: string | undefined;
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, secretBox, gatewayDomain, hostRules, requireRecentSignIn } = options;
  const upstreamUrls = createUpstreamUrls(options.upstreamAllow);
  const networkRules = createNetworkRules(options.networks);
  const { createInput, updateInput } = createProjectInputs({ upstreamUrls, hostRules, gatewayDomain });

  /** The input's columns, with the time zone as PostgreSQL spells it. */
  async function storable<T extends ColumnInput>(values: T) {
    const { timeZone } = values;
    return { ...toColumns(values), ...(timeZone && { timeZone: await knownTimeZone(db.pool, timeZone) }) };
  }

  return {
    networkRules,

    async list(viewer: Viewer, period: Period, query: Prisma.ProjectFindManyArgs): Promise<Project[]> {
      const projects = await db.prisma.project.findMany({
        ...query,
        where: { AND: [visibleProjects(viewer), query.where ?? {}, createdBetween('Project', 'createdAt', period)] },
        orderBy: { id: 'desc' },
      });
      rememberVisible(viewer, projects);
      return projects;
    },

    /** The number of the viewer's projects. Null if there are more than `COUNT_LIMIT`. */
    async count(viewer: Viewer, period: Period = {}): Promise<number | null> {
      const count = await db.prisma.project.count({
        where: { AND: [visibleProjects(viewer), createdBetween('Project', 'createdAt', period)] },
        take: COUNT_AT_MOST,
      });
      return exactCount(count);
    },

    /** The project, or null if it doesn't exist or the viewer can't see it. */
    async find(viewer: Viewer, id: string): Promise<Project | null> {
      const project = await findProject(db.pool, viewer, requireId('Project', id));
      if (project) rememberVisible(viewer, [project]);
      return project;
    },

    async create(viewer: Viewer, input: CreateProjectInput): Promise<Project> {
      const { mode: asked, networks: names = [], upstreamHeaders, ...rest } = parseInput(createInput, input);
      const { gatewayHost, ...columns } = await storable(rest);
      if (gatewayHost) requireRecentSignIn?.(viewer, 'set `gatewayHost`');
      const mode = networkRules.newMode(asked);
      const values = { ...columns, mode, networks: networkRules.idsOf(names, { mode }) };
      const id = newId('Project');
      checkHeaderUrls(upstreamUrls, id, { upstreamHeaders });
      const headers = projectHeaderColumns(secretBox, id, undefined, { upstreamHeaders });
      const hosts = hostColumns(gatewayHost, null, hostRules.production);
      const data = { id, userId: viewer.userId, ...values, ...headers, ...hosts };
      const project = await db.prisma
        .$transaction(async (tx) => {
          if (gatewayHost || gatewayDomain) await queueForHosts(unfiltered(tx), viewer.userId);
          const picked = gatewayDomain ? await pickSlug(unfiltered(tx), data.name, viewer.userId) : undefined;
          // Otherwise, a new project with another wallet could take over a domain that buyers still use.
          if (picked?.isReleased) requireRecentSignIn?.(viewer, REUSE_SLUG);
          const created = await tx.project.create({ data: { ...data, slug: picked?.slug ?? null } });
          await moveHosts(unfiltered(tx), created, NO_HOSTS, created);
          await startSummaryPeriod(unfiltered(tx), created);
          await confirmProjectQuota(unfiltered(tx), viewer.userId);
          const changes = changesBetween(undefined, auditedOf(created));
          await recordAudit(tx, viewer, { action: 'project.created', ...targetOf(created), ...changes });
          return created;
        })
        .catch(rethrowHostConflict);
      if (project.gatewayHost || project.slug) bus.publish(topics.gatewayHosts);
      return project;
    },

    async update(viewer: Viewer, id: string, input: UpdateProjectInput): Promise<Project> {
      const where = visibleProject(viewer, id);
      const { networks: names, upstreamHeaders, ...rest } = parseInput(updateInput, input);
      const { gatewayHost, ...data } = await storable(rest);
      // A leaked API key must not be able to redirect payments.
      for (const [field, permission] of Object.entries(VALUE_PERMISSIONS.updateProject)) {
        const detail = permission === 'MANAGE_HEADERS' ? ONLY_THE_OWNER_SETS_HEADERS : ONLY_THE_OWNER;
        if (input[field as keyof UpdateProjectInput] !== undefined) requirePermission(viewer, id, permission, detail);
      }
      let isMoved = false;
      const project = await db.prisma
        .$transaction(async (tx) => {
          if (gatewayHost || data.slug) await queueForHosts(unfiltered(tx), viewer.userId);
          // If two changes are concurrent, each must record the values it actually replaced.
          await lockVisible(tx, viewer, 'project', id);
          const before = await tx.project.findFirst({ where });
          if (!before) throw notFound();
          const networks = names && networkRules.idsOf(names, before);
          const moved = movedField(before, { ...data, gatewayHost, networks });
          if (moved) requireRecentSignIn?.(viewer, `change \`${moved}\``);
          checkHeaderUrls(upstreamUrls, id, { upstreamHeaders });
          if (data.slug !== undefined) await moveSlug(unfiltered(tx), before.userId, before.slug, data.slug);
          const hosts = hostColumns(gatewayHost, before.gatewayHost, hostRules.production);
          const headers = projectHeaderColumns(secretBox, id, before, { upstreamHeaders });
          const updated = await tx.project.update({
            where: sameRow(before),
            data: {
              ...data,
              ...headers,
              ...hosts,
              ...(networks && { networks }),
              updatedAt: new Date(sharedNow()),
            },
          });
          await moveHosts(unfiltered(tx), updated, before, updated);
          if (updated.timeZone !== before.timeZone) await moveSummaryPeriod(unfiltered(tx), updated);
          const { changes, previous } = changesBetween(auditedOf(before), auditedOf(updated));
          // A new value counts as a change even if its mask is the same.
          const isGiven = upstreamHeaders !== undefined;
          await recordAudit(tx, viewer, {
            action: 'project.updated',
            ...targetOf(updated),
            changes: { ...changes, ...(isGiven && auditedProjectHeaders(updated)) },
            previous: { ...previous, ...(isGiven && auditedProjectHeaders(before)) },
          });
          isMoved = updated.slug !== before.slug || updated.gatewayHost !== before.gatewayHost;
          return updated;
        })
        .catch(rethrowHostConflict);
      bus.publishHereFirst(topics.routes(id));
      if (isMoved) bus.publish(topics.gatewayHosts);
      return project;
    },

    async delete(viewer: Viewer, id: string): Promise<void> {
      const where = visibleProject(viewer, id);
      const project = await db.prisma.project.findFirst({ where, select: { id: true, name: true } });
      if (!project) throw notFound();
      const { keyIds, memberIds } = await db.prisma.$transaction(async (tx) => {
        const host = await lockHost(unfiltered(tx), id);
        const found = await requireProject(tx, viewer, id);
        // The account could then give the project's domains to a new one, with another wallet.
        requireRecentSignIn?.(viewer, 'delete the project');
        const ended = await softDeleteProject(tx, found.id);
        if (host) await releaseHost(unfiltered(tx), host, viewer.userId);
        if (found.slug) await releaseSlug(unfiltered(tx), found.slug, viewer.userId);
        const changes = { name: project.name };
        await recordAudit(tx, viewer, { action: 'project.deleted', ...targetOf(project), changes });
        return ended;
      });
      bus.publishHereFirst(topics.routes(id));
      for (const keyId of keyIds) bus.publish(topics.apiKeyRevoked(keyId));
      for (const userId of memberIds) bus.publish(topics.membershipsChanged(userId));
      bus.publish(topics.gatewayHosts);
      bus.publish(topics.deletions);
    },
  };
}

const NO_HOSTS = { gatewayHost: null, claimedHost: null };

const targetOf = ({ id }: Pick<Project, 'id'>) => ({ projectId: id, targetId: id });

function auditedOf(project: Project) {
  const { name, walletAddress, slug, mode, networks, timeZone, description, iconUrl, contact } = project;
  const addresses = { gatewayHost: shownHost(project), slug };
  const shown = { description, iconUrl, contact };
  const own = { name, walletAddress, ...addresses, milestonesUsd: milestonesUsdOf(project), ...shown };
  return { ...own, mode, networks, timeZone, ...auditedProjectHeaders(project) };
}

/** The first changed field that determines who is paid, or where. */
function movedField(
  before: Project,
  after: Partial<Pick<Project, 'walletAddress' | 'networks' | 'gatewayHost' | 'slug'>>,
) {
  const { walletAddress, networks, slug } = before;
  const current = { walletAddress, networks, gatewayHost: shownHost(before), slug };
  const names = ['walletAddress', 'networks', 'gatewayHost', 'slug'] as const;
  return names.find((name) => after[name] !== undefined && !isDeepStrictEqual(after[name], current[name]));
}

type ColumnInput = { milestonesUsd?: bigint[] | undefined; timeZone?: string | undefined };

function toColumns<T extends ColumnInput>({ milestonesUsd, ...columns }: T) {
  return { ...columns, ...(milestonesUsd && { milestonesAtomic: milestonesUsd.map(String) }) };
}

function rethrowHostConflict(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new AppError('CONFLICT', {
    detail: 'This domain is already in use by another project.',
    fields: [{ pointer: '/gatewayHost', message: 'Already used by another project.' }],
  });
}
