import { z } from 'zod';
import { changesBetween } from '../../audit/diff.ts';
import { auditStep, recordAudit } from '../../audit/record.ts';
import { isVisible, visibleItem } from '../../auth/access.ts';
import { rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { Database } from '../../database/client.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../../database/errors.ts';
import { createPages, type PageQuery } from '../../database/pages.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { AppError, notFound } from '../../errors.ts';
import { type Endpoint, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { formatUsd, parseUsd } from '../../money.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import { type Nullable, optionalText, parseInput } from '../../validation.ts';
import type { EventDestination } from '../events/find-destinations.ts';
import type { EventService } from '../events/service.ts';
import { targetUrlInput, urlToStore } from '../urls/stored-url.ts';
import { forwardedHeadersInput } from './forwarded-headers.ts';
import { insertEndpoint, type NewEndpoint } from './insert-endpoint.ts';
import { canonicalPath } from './path.ts';
import { keepPrice } from './price-grace.ts';
import { checkPlaceholders } from './upstream-placeholders.ts';

const pathInput = z.string().transform((text, context) => {
  const result = canonicalPath(text);
  if (result.ok) return result.path;
  context.addIssue({ code: 'custom', message: result.message });
  return z.NEVER;
});

const priceInput = z.string().transform((text, context) => {
  const priceAtomic = parseUsd(text);
  if (priceAtomic !== undefined && priceAtomic > 0n) return priceAtomic;
  context.addIssue({
    code: 'custom',
    message:
      'Must be a decimal string above 0 with at most 12 digits before the decimal point and 6 after it, for example, "0.01".',
  });
  return z.NEVER;
});

export type CreateEndpointInput = {
  path: string;
  upstreamUrl: string;
  priceUsd: string;
  description?: string | null;
  forwardedHeaders?: string[] | null;
};
export type UpdateEndpointInput = Nullable<CreateEndpointInput & { isActive: boolean }>;
export type EndpointService = ReturnType<typeof createEndpointService>;

// The official clients refuse to pay more for one request unless their user raises the limit.
const CLIENT_LIMIT_ATOMIC = 1_000_000n;

/** Problems that a seller should know about, even though the endpoint is accepted. */
export function warningsOf(endpoint: Pick<Endpoint, 'priceAtomic'>): string[] {
  if (BigInt(endpoint.priceAtomic.toFixed(0)) <= CLIENT_LIMIT_ATOMIC) return [];
  return ['Most x402 clients refuse to pay more than 1 USD for a request unless their user allows it.'];
}

/** A stored endpoint's price as a decimal USD string. */
export function priceUsdOf(endpoint: Pick<Endpoint, 'priceAtomic'>): string {
  return formatUsd(BigInt(endpoint.priceAtomic.toFixed(0)));
}

/**
 * A project's paid routes. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, and `CONFLICT` if the project
 * already has the path.
 */
export function createEndpointService(options: {
  db: Database;
  bus: Bus;
  events: EventService;
  egressAllow: EgressAllow;
}) {
  const { db, bus, events } = options;
  const createInput = z.strictObject({
    path: pathInput,
    upstreamUrl: targetUrlInput(options.egressAllow),
    priceUsd: priceInput,
    description: optionalText(1000),
    forwardedHeaders: forwardedHeadersInput.optional(),
  });
  const updateInput = createInput.partial().extend({ isActive: z.boolean().optional() });

  const pages = createPages({
    db: db.pool,
    table: 'Endpoint',
    find: (query: Omit<Prisma.EndpointFindManyArgs, 'where' | 'take'>, which) =>
      db.prisma.endpoint.findMany({ ...query, ...which, orderBy: { id: 'desc' } }),
  });

  function insert(viewer: Viewer, endpoint: NewEndpoint, destinations: readonly EventDestination[]): Promise<Endpoint> {
    const { id, projectId, path, upstreamUrl, description } = endpoint;
    const event = {
      projectId,
      type: 'endpoint.created' as const,
      data: { endpointId: id, path, upstreamUrl: maskUrl(upstreamUrl), priceUsd: priceUsdOf(endpoint), description },
    };
    const changes = changesBetween(undefined, auditedOf(endpoint));
    const audit = auditStep(viewer, { action: 'endpoint.created', projectId, targetId: id, ...changes });
    return insertEndpoint(db.pool, endpoint, { ...events.steps(event, destinations), audit });
  }

  return {
    async list(viewer: Viewer, projectId: string, query: Prisma.EndpointFindManyArgs & PageQuery): Promise<Endpoint[]> {
      return (await isVisible(db.prisma, viewer, projectId)) ? pages.load(viewer, projectId, query) : [];
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.EndpointFindFirstArgs = {},
    ): Promise<Endpoint | null> {
      return db.prisma.endpoint.findFirst({ ...query, where: visibleItem(viewer, 'Endpoint', id, projectId) });
    },

    async create(viewer: Viewer, projectId: string, input: CreateEndpointInput): Promise<Endpoint> {
      const destinations = await events.destinationsIn(viewer, projectId, ['endpoint.created']);
      const { priceUsd: priceAtomic, ...values } = parseInput(createInput, input);
      urlToStore('upstreamUrl', values.upstreamUrl);
      checkPlaceholders(values.path, values.upstreamUrl);
      const { description = null, forwardedHeaders = [] } = values;
      const added = { ...values, description, forwardedHeaders, isActive: true, priceAtomic: decimal(priceAtomic) };
      const endpoint = { id: newId('Endpoint'), projectId, ...added };
      const created = await insert(viewer, endpoint, destinations)
        .catch(async (error) => {
          if (!isForeignKeyViolation(error)) throw error;
          // A destination, or the project, was deleted after it was read.
          return insert(viewer, endpoint, await events.destinationsIn(viewer, projectId, ['endpoint.created']));
        })
        .catch(rethrowPathConflict);
      events.announce(projectId);
      bus.publishHereFirst(topics.routes(projectId));
      return created;
    },

    async update(viewer: Viewer, id: string, input: UpdateEndpointInput, projectId?: string | null): Promise<Endpoint> {
      const where = visibleItem(viewer, 'Endpoint', id, projectId);
      const { priceUsd: priceAtomic, ...values } = parseInput(updateInput, input);
      const endpoint = await db.prisma
        .$transaction(async (tx) => {
          const visible = await tx.endpoint.findFirst({ where, select: { projectId: true } });
          if (!visible) throw notFound();
          // Lock the project first, as project deletion does, to avoid a deadlock.
          await tx.$queryRaw`SELECT 1 FROM "Project" WHERE "id" = ${visible.projectId} FOR KEY SHARE`;
          // If two price changes are concurrent, each must report the price it actually replaced.
          await tx.$queryRaw`SELECT 1 FROM "Endpoint" WHERE "id" = ${id} FOR UPDATE`;
          const before = await tx.endpoint.findUnique({ where: { id } });
          if (!before) throw notFound();
          const { upstreamUrl } = values;
          const after = await tx.endpoint.update({
            where: { id },
            data: {
              ...values,
              ...(upstreamUrl && { upstreamUrl: urlToStore('upstreamUrl', upstreamUrl, before.upstreamUrl) }),
              ...(priceAtomic !== undefined && { priceAtomic: decimal(priceAtomic) }),
              updatedAt: new Date(sharedNow()),
            },
          });
          checkPlaceholders(after.path, after.upstreamUrl);
          if (!after.priceAtomic.equals(before.priceAtomic)) {
            await keepPrice(tx, before);
            await events.record(tx, {
              projectId: after.projectId,
              type: 'endpoint.pricing_changed',
              data: {
                endpointId: after.id,
                path: after.path,
                previousPriceUsd: priceUsdOf(before),
                priceUsd: priceUsdOf(after),
              },
            });
          }
          const target = { projectId: after.projectId, targetId: id };
          const changes = changesBetween(auditedOf(before), auditedOf(after));
          await recordAudit(tx, viewer, { action: 'endpoint.updated', ...target, ...changes });
          return after;
        })
        .catch(rethrowPathConflict);
      events.announce(endpoint.projectId);
      bus.publishHereFirst(topics.routes(endpoint.projectId));
      return endpoint;
    },

    async delete(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      const where = visibleItem(viewer, 'Endpoint', id, projectId);
      const endpoint = await db.prisma.$transaction(async (tx) => {
        const found = await tx.endpoint.findFirst({ where, select: { projectId: true, path: true } });
        const { count } = await tx.endpoint.deleteMany({ where });
        if (!found || count === 0) throw notFound();
        const target = { projectId: found.projectId, targetId: id };
        await recordAudit(tx, viewer, { action: 'endpoint.deleted', ...target, changes: { path: found.path } });
        return found;
      });
      bus.publishHereFirst(topics.routes(endpoint.projectId));
    },
  };
}

function auditedOf(endpoint: NewEndpoint) {
  const { path, upstreamUrl, description, isActive, forwardedHeaders } = endpoint;
  return { path, upstreamUrl, priceUsd: priceUsdOf(endpoint), description, isActive, forwardedHeaders };
}

function decimal(amountAtomic: bigint): Prisma.Decimal {
  return new Prisma.Decimal(amountAtomic.toString());
}

function rethrowPathConflict(error: unknown): never {
  if (!isUniqueViolation(error)) rethrowProjectGone(error);
  throw new AppError('CONFLICT', {
    detail:
      'The project already has an endpoint with this path, perhaps with different parameter names. Change that endpoint ' +
      'or choose a different path.',
    fields: [{ pointer: '/path', message: 'Already used by another endpoint in the project.' }],
  });
}
