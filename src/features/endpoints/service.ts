import { changesBetween } from '../../audit/diff.ts';
import { auditValues, recordAudit } from '../../audit/record.ts';
import { visibleItem } from '../../auth/access.ts';
import type { RequireRecentSignIn } from '../../auth/recent-sign-in.ts';
import { requireCredentials } from '../../auth/require-permission.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import { type ProjectAllow, parseProjectAllow } from '../../config/project-allow.ts';
import { isForeignKeyViolation } from '../../database/errors.ts';
import { lockForKeyShare, lockForUpdate } from '../../database/locks.ts';
import { type TenantDatabase, unfiltered } from '../../database/tenant-client.ts';
import { sameRow } from '../../database/tenant-filter.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { notFound } from '../../errors.ts';
import { type Endpoint, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { currentRequest } from '../../request-context.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { parseInput } from '../../validation.ts';
import { takeDeliveries } from '../events/delivery-limit.ts';
import type { EventDestination } from '../events/find-destinations.ts';
import type { EventService } from '../events/service.ts';
import { createUpstreamUrls } from '../urls/project-url.ts';
import { urlToStore } from '../urls/stored-url.ts';
import { bufferedStreamWarning } from './buffered-streams.ts';
import { clientLimitWarning } from './client-limits.ts';
import { createdEvent } from './created-event.ts';
import { withJsonColumns } from './discovery.ts';
import { type CreateEndpointInput, createEndpointInputs, type UpdateEndpointInput } from './input.ts';
import { insertEndpoint, type NewEndpoint } from './insert-endpoint.ts';
import { methodsOf } from './methods.ts';
import { rethrowPathConflict } from './path-conflict.ts';
import { keepPrice, releaseRequests } from './price-grace.ts';
import { priceUsdOf } from './price-usd.ts';
import { checkProtocol, methodsFor } from './protocol.ts';
import { isFarFromEndpointQuota, requireEndpointQuota } from './quota.ts';
import { requireReach } from './reach.ts';
import { createEndpointReader } from './reader.ts';
import { countedBytes, takeSchemas } from './schema-limit.ts';
import { checkTimeout } from './settlement.ts';
import { auditedUpstreamHeaders, createStoredUpstreamHeaders } from './upstream-headers.ts';
import { checkPlaceholders } from './upstream-placeholders.ts';

export type EndpointService = ReturnType<typeof createEndpointService>;

/** The defaults for a new endpoint. */
const DEFAULTS = {
  description: null,
  isActive: true,
  forwardedHeaders: [],
  protocol: 'HTTP',
  upstreamHeaders: null,
  secretUpstreamHeaders: null,
  settlement: 'AFTER_RESPONSE',
  timeoutSeconds: null,
  mimeType: null,
  inputSchema: null,
  exampleResponse: null,
  tags: [],
} as const satisfies Partial<NewEndpoint>;

/** Problems that a seller should know about, even though the endpoint is accepted. */
export function warningsOf(
  endpoint: Pick<Endpoint, 'priceAtomic' | 'mimeType' | 'protocol' | 'settlement' | 'timeoutSeconds'>,
): string[] {
  const priceAtomic = BigInt(endpoint.priceAtomic.toFixed(0));
  const priceWarning =
    priceAtomic === 0n ? 'This endpoint is free. Buyers don’t pay for requests.' : clientLimitWarning(priceAtomic);
  return [priceWarning, bufferedStreamWarning(endpoint)].filter((warning) => warning !== undefined);
}

/**
 * A project's paid routes. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED`, `ENDPOINT_LIMIT_REACHED`,
 * `SCHEMA_LIMIT_REACHED`, and `CONFLICT` if the project already has the path with any of the methods.
 */
export function createEndpointService(options: {
  db: TenantDatabase;
  bus: Bus;
  events: EventService;
  egressAllow: EgressAllow;
  /** Which targets upstreams can have. Default: the same as for all other requests. */
  upstreamAllow?: ProjectAllow;
  secretBox: SecretBox;
  /** The rule for changing an upstream URL. Default: none. */
  requireRecentSignIn?: RequireRecentSignIn;
}) {
  const { db, bus, events } = options;
  const upstreamUrls = createUpstreamUrls(options.upstreamAllow ?? parseProjectAllow('', options.egressAllow));
  const storedHeaders = createStoredUpstreamHeaders(options.secretBox);
  const { createInput, updateInput } = createEndpointInputs(upstreamUrls);

  async function insert(
    viewer: Viewer,
    endpoint: NewEndpoint,
    destinations: readonly EventDestination[],
  ): Promise<Endpoint> {
    const { id, projectId } = endpoint;
    const changes = changesBetween(undefined, auditedOf(endpoint));
    const audit = auditValues(viewer, { action: 'endpoint.created', projectId, targetId: id, ...changes });
    const event = events.stepValues(createdEvent(endpoint), destinations);
    const isFar = await isFarFromEndpointQuota(unfiltered(db.prisma), projectId);
    // A single statement is faster, but only transactions call the hook.
    if (isFar && !currentRequest()?.beforeCommit) return insertEndpoint(db.prisma, endpoint, { event, audit });
    return db.prisma.$transaction(async (tx) => {
      if (!isFar) await requireEndpointQuota(unfiltered(tx), projectId, 1);
      return insertEndpoint(tx, endpoint, { event, audit });
    });
  }

  /** Counts the deliveries of a price change. Outside its transaction, because counters don't wait for the disk. */
  async function takePriceChange(viewer: Viewer, where: ReturnType<typeof visibleItem>, price: bigint | undefined) {
    const select = { projectId: true, priceAtomic: true };
    const before = price === undefined ? null : await db.prisma.endpoint.findFirst({ where, select });
    const isChange = before && !before.priceAtomic.equals(decimal(price!));
    const destinations = isChange
      ? await events.destinationsIn(viewer, before.projectId, ['endpoint.pricing_changed'])
      : [];
    return takeDeliveries(db.pool, viewer, destinations.length);
  }

  return {
    ...createEndpointReader(db),

    async create(viewer: Viewer, projectId: string, input: CreateEndpointInput): Promise<Endpoint> {
      const destinations = await events.destinationsIn(viewer, projectId, ['endpoint.created']);
      const { priceUsd: priceAtomic, upstreamHeaders, ...values } = parseInput(createInput, input);
      urlToStore('upstreamUrl', values.upstreamUrl);
      upstreamUrls.check(projectId, values.upstreamUrl, '/upstreamUrl');
      checkPlaceholders(values.path, values.upstreamUrl);
      const identity = { id: newId('Endpoint'), projectId };
      const headers = storedHeaders.ofNew({ ...identity, ...values }, { upstreamHeaders });
      const methods = methodsFor(values.protocol ?? DEFAULTS.protocol, values.methods, undefined)!;
      const price = { priceAtomic: decimal(priceAtomic) };
      const endpoint = { ...DEFAULTS, ...identity, ...values, ...headers, ...price, methods };
      checkProtocol(endpoint);
      checkTimeout(endpoint);
      const giveBack = await takeSchemas(db.pool, viewer, countedBytes(endpoint));
      const giveBackDeliveries = await takeDeliveries(db.pool, viewer, destinations.length).catch(giveBack);
      const created = await insert(viewer, endpoint, destinations)
        .catch(async (error) => {
          if (!isForeignKeyViolation(error)) throw error;
          // A destination, or the project, was deleted after it was read.
          return insert(viewer, endpoint, await events.destinationsIn(viewer, projectId, ['endpoint.created']));
        })
        .catch((error) => rethrowPathConflict(error, { db: db.pool, viewer, wanted: async () => endpoint }))
        .catch(giveBackDeliveries)
        .catch(giveBack);
      events.announce(projectId);
      bus.publishHereFirst(topics.routes(projectId));
      return created;
    },

    async update(viewer: Viewer, id: string, input: UpdateEndpointInput, projectId?: string | null): Promise<Endpoint> {
      const where = visibleItem(viewer, 'Endpoint', id, projectId);
      const { priceUsd: priceAtomic, upstreamHeaders, ...values } = parseInput(updateInput, input);
      const giveBack = await takeSchemas(db.pool, viewer, countedBytes(values));
      const giveBackDeliveries = await takePriceChange(viewer, where, priceAtomic).catch(giveBack);
      const endpoint = await db.prisma
        .$transaction(async (tx) => {
          const visible = await tx.endpoint.findFirst({ where, select: { projectId: true } });
          if (!visible) throw notFound();
          // Lock the project first, as project deletion does, to avoid a deadlock.
          await lockForKeyShare(tx, 'project', visible.projectId);
          // If two price changes are concurrent, each must report the price it actually replaced.
          await lockForUpdate(tx, 'endpoint', id);
          const before = await tx.endpoint.findFirst({ where });
          if (!before) throw notFound();
          const { upstreamUrl } = values;
          const url = upstreamUrl && urlToStore('upstreamUrl', upstreamUrl, before.upstreamUrl);
          const address = { upstreamUrl: url || before.upstreamUrl, path: values.path ?? before.path };
          const isMoved = address.upstreamUrl !== before.upstreamUrl;
          if (upstreamHeaders !== undefined || isMoved)
            requireCredentials(viewer, before.projectId, '`upstreamUrl` or `upstreamHeaders`');
          if (isMoved) options.requireRecentSignIn?.(viewer, 'change `upstreamUrl`');
          const methods = methodsFor(values.protocol ?? before.protocol, values.methods, before);
          await requireReach(tx, viewer, before, { ...values, methods });
          const headers = storedHeaders.ofChanged(before, { upstreamHeaders }, address);
          const after = await tx.endpoint.update({
            where: sameRow(before),
            data: {
              ...withJsonColumns(values),
              ...(methods && { methods }),
              ...(url && { upstreamUrl: url }),
              ...headers,
              ...(priceAtomic !== undefined && { priceAtomic: decimal(priceAtomic) }),
              updatedAt: new Date(sharedNow()),
            },
          });
          if (upstreamUrl) upstreamUrls.check(after.projectId, after.upstreamUrl, '/upstreamUrl');
          checkPlaceholders(after.path, after.upstreamUrl);
          checkProtocol(after);
          checkTimeout(after);
          await keepPrice(tx, before, after);
          if (!after.priceAtomic.equals(before.priceAtomic)) {
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
          const { changes, previous } = changesBetween(auditedOf(before), auditedOf(after));
          await recordAudit(tx, viewer, {
            action: 'endpoint.updated',
            ...target,
            changes: { ...changes, ...(headers && auditedUpstreamHeaders(after)) },
            previous: { ...previous, ...(headers && auditedUpstreamHeaders(before)) },
          });
          return after;
        })
        .catch((error) => {
          const wanted = async () => {
            const stored = await db.prisma.endpoint.findFirst({ where });
            const methods = stored && methodsFor(values.protocol ?? stored.protocol, values.methods, stored);
            return stored && { ...stored, ...values, ...(methods && { methods }) };
          };
          return rethrowPathConflict(error, { db: db.pool, viewer, wanted, except: id });
        })
        .catch(giveBackDeliveries)
        .catch(giveBack);
      events.announce(endpoint.projectId);
      bus.publishHereFirst(topics.routes(endpoint.projectId));
      return endpoint;
    },

    async delete(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      const where = visibleItem(viewer, 'Endpoint', id, projectId);
      const endpoint = await db.prisma.$transaction(async (tx) => {
        const select = { id: true, projectId: true, path: true, priceAtomic: true };
        const found = await tx.endpoint.findFirst({ where, select });
        const { count } = await tx.endpoint.deleteMany({ where });
        if (!found || count === 0) throw notFound();
        await releaseRequests(tx, found);
        const target = { projectId: found.projectId, targetId: id };
        await recordAudit(tx, viewer, { action: 'endpoint.deleted', ...target, changes: { path: found.path } });
        return found;
      });
      bus.publishHereFirst(topics.routes(endpoint.projectId));
    },
  };
}

/** The values for the audit log. */
export function auditedOf(endpoint: NewEndpoint) {
  const { path, upstreamUrl, description, isActive, forwardedHeaders } = endpoint;
  const { mimeType, inputSchema, exampleResponse, tags, protocol, settlement, timeoutSeconds } = endpoint;
  const { upstreamHeaders } = auditedUpstreamHeaders(endpoint);
  return {
    path,
    upstreamUrl,
    priceUsd: priceUsdOf(endpoint),
    description,
    isActive,
    forwardedHeaders,
    upstreamHeaders,
    methods: methodsOf(endpoint),
    mimeType,
    inputSchema,
    exampleResponse,
    tags,
    protocol,
    settlement,
    timeoutSeconds,
  };
}

function decimal(amountAtomic: bigint): Prisma.Decimal {
  return new Prisma.Decimal(amountAtomic.toString());
}
