import { isDeepStrictEqual } from 'node:util';
import { recordAudit } from '../../audit/record.ts';
import { visibleItem, visibleProjectId } from '../../auth/access.ts';
import { lockVisible } from '../../auth/lock-visible.ts';
import { requireCredentials } from '../../auth/require-permission.ts';
import { requireProject, rethrowProjectGone } from '../../auth/require-project.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { type Bus, topics } from '../../bus/bus.ts';
import { sharedNow } from '../../clock.ts';
import type { ConnectorDefinition, ConnectorType, ProbeResult } from '../../connectors/definition.ts';
import { type ConnectorConfig, redactConfig } from '../../connectors/describe.ts';
import { getConnector } from '../../connectors/types/registry.ts';
import { distinct } from '../../database/distinct.ts';
import { createPages, type PageQuery, pageStatements } from '../../database/pages.ts';
import { type TenantDatabase, unfiltered } from '../../database/tenant-client.ts';
import { sameRow } from '../../database/tenant-filter.ts';
import type { ConnectorProbe } from '../../delivery/send/probe-connector.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { invalidField, notFound } from '../../errors.ts';
import { type EventType, expandEventTypes } from '../../events/types.ts';
import type { Connector, Delivery, Prisma, Project } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { type Nullable, parseInput } from '../../validation.ts';
import { softDeleteConnectors } from '../deletions/soft-delete.ts';
import {
  type DestinationFilter,
  HEALTHY,
  matchingDestinations,
  type SubscriptionInput,
  type SwitchInput,
  switched,
  testEventInput,
} from '../destinations/input.ts';
import { applyPause, pauseChange, pausedColumns } from '../destinations/pausing.ts';
import type { EventService } from '../events/service.ts';
import { changeConfig, parseConfig } from './config.ts';
import { changesCredential, forgetToken } from './forget-token.ts';
import { connectorChanges, connectorInput } from './input.ts';
import { requireSecrets } from './missing-secrets.ts';
import { connectorQuota, requireConnectorQuota } from './quota.ts';
import { requireSameType, withoutNulls } from './typed-config.ts';

const PAGES = pageStatements('connectors', 'Connector');

/**
 * `typeOfConfig` is the type that a typed config is for. It must be the connector's type. `grant` comes from an account
 * that was connected, so it isn't part of what a caller enters.
 */
type ConfigInput = { config?: unknown; typeOfConfig?: ConnectorType; grant?: string };
export type CreateConnectorInput = SubscriptionInput & ConfigInput & { type: ConnectorType };
export type UpdateConnectorInput = Nullable<SubscriptionInput & SwitchInput> & ConfigInput;
type ConnectorFilter = DestinationFilter & { types?: readonly ConnectorType[] | null };
export type ConnectorService = ReturnType<typeof createConnectorService>;

/**
 * A project's connectors. Methods throw AppError `NOT_FOUND`, `VALIDATION_FAILED` (with pointers into `config`), and
 * `CONNECTOR_LIMIT_REACHED`. Secret fields are write-only.
 */
export function createConnectorService(options: {
  db: TenantDatabase;
  bus: Bus;
  secretBox: SecretBox;
  events: EventService;
  probe: ConnectorProbe;
  egressAllow: EgressAllow;
  requireNoHold: () => void;
}) {
  const { db, bus, secretBox, events, probe, egressAllow, requireNoHold } = options;
  const place = (id: string, projectId: string) => ({
    table: 'Connector',
    column: 'secretConfig',
    rowId: id,
    projectId,
  });
  const stored = (definition: ConnectorDefinition, id: string, projectId: string, config: ConnectorConfig) => ({
    config: redactConfig(definition, config) as Prisma.InputJsonObject,
    secretConfig: secretBox.seal(JSON.stringify(config), place(id, projectId)),
  });

  const pages = createPages({
    db: db.pool,
    statements: PAGES,
    find: (query: Omit<Prisma.ConnectorFindManyArgs, 'where' | 'take'>, which) =>
      db.prisma.connector.findMany({ ...query, ...which, orderBy: { id: 'desc' } }),
  });

  return {
    async list(
      viewer: Viewer,
      projectId: string,
      filter: ConnectorFilter,
      query: Prisma.ConnectorFindManyArgs & PageQuery,
    ): Promise<Connector[]> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.load(viewer, visible, query, matching(filter)) : [];
    },

    /** The number of items in the list. Null if there are more than `COUNT_LIMIT`. */
    async count(viewer: Viewer, projectId: string, filter: ConnectorFilter): Promise<number | null> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.count(viewer, visible, matching(filter)) : 0;
    },

    /** How many more connectors the project's account can have. Null means unlimited. */
    quota: (viewer: Viewer, project: Pick<Project, 'id' | 'userId'>) =>
      connectorQuota(unfiltered(db.prisma), viewer, project),

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.ConnectorFindFirstArgs = {},
    ): Promise<Connector | null> {
      return db.prisma.connector.findFirst({ ...query, where: visibleItem(viewer, 'Connector', id, projectId) });
    },

    async create(
      viewer: Viewer,
      projectId: string,
      { typeOfConfig, grant, ...input }: CreateConnectorInput,
    ): Promise<Connector> {
      const project = await requireProject(db.prisma, viewer, projectId);
      const { type, config: given, ...values } = parseInput(connectorInput, input);
      requireSameType(type, typeOfConfig);
      // Typed clients send null for fields that aren't set.
      const config = typeOfConfig ? withoutNulls(given) : given;
      const definition = getConnector(type);
      const checked = parseConfig(definition, { ...config, ...(grant !== undefined && { grant }) }, egressAllow);
      requireSameGrant(checked, grant);
      requireSupportedEventType(definition, values.eventTypes);
      const id = newId('Connector');
      const creation = db.prisma.$transaction(async (tx) => {
        await requireConnectorQuota(unfiltered(tx), viewer, project, 1);
        const created = await tx.connector.create({
          data: { id, projectId: project.id, type, ...values, ...stored(definition, id, project.id, checked) },
        });
        const changes = { type, ...values, config: created.config };
        await recordAudit(tx, viewer, { action: 'connector.created', ...targetOf(created), changes });
        return created;
      });
      return creation.catch(rethrowProjectGone);
    },

    /**
     * Changes a connector. `config` is merged into the stored config; see `changeConfig`. Pausing the connector holds its
     * deliveries, and resuming it releases them. Changing the config or setting `isActive` to true ends a pause that
     * the service started.
     */
    async update(
      viewer: Viewer,
      id: string,
      { typeOfConfig, grant, ...input }: UpdateConnectorInput,
      projectId?: string | null,
    ): Promise<Connector> {
      const where = visibleItem(viewer, 'Connector', id, projectId);
      const { config: given, isPaused, ...values } = parseInput(connectorChanges, input);
      const changes = grant === undefined ? given : { ...given, grant };
      const { connector, pause } = await db.prisma.$transaction(async (tx) => {
        await lockVisible(tx, viewer, 'connector', id);
        const current = await tx.connector.findFirst({ where });
        if (!current) throw notFound();
        requireSameType(current.type, typeOfConfig);
        const definition = getConnector(current.type);
        if (values.eventTypes) requireSupportedEventType(definition, values.eventTypes);
        const shown = current.config as ConnectorConfig;
        const before = changes && open(current);
        const after = before && changeConfig(definition, { stored: before, shown }, changes, egressAllow);
        if (after) requireSameGrant(after, grant ?? before.grant);
        if (after && !isDeepStrictEqual(after, before)) requireCredentials(viewer, current.projectId, '`config`');
        if (values.isActive && !after) requireSecrets(definition, open(current));
        const isNewCredential = before && after && changesCredential(definition, before, after);
        const change = pauseChange({ isPaused, mayFix: changes !== undefined || values.isActive === true }, current);
        const updated = await tx.connector.update({
          where: sameRow(current),
          data: {
            ...values,
            updatedAt: new Date(sharedNow()),
            ...switched(values.isActive),
            ...pausedColumns(change, current),
            ...(change !== undefined && { nextProbeAt: null, probeCount: 0 }),
            ...(after && {
              ...stored(definition, id, current.projectId, after),
              ...HEALTHY,
              rejection: null,
              rejectionCount: 0,
              rejectedSince: null,
              memory: {},
            }),
            ...(isNewCredential && { credentialExpiresAt: null }),
          },
        });
        if (isNewCredential) await forgetToken(unfiltered(tx), id);
        const names = Object.keys(changes ?? {});
        const config = Object.fromEntries(
          names.map((name) => [name, (updated.config as ConnectorConfig)[name] ?? null]),
        );
        await recordAudit(tx, viewer, {
          action: 'connector.updated',
          ...targetOf(updated),
          changes: { ...values, ...(isPaused !== undefined && { isPaused }), ...(changes && { config }) },
        });
        return { connector: updated, pause: change };
      });
      if (values.maxPerSecond !== undefined) bus.publish(topics.paces);
      if (pause !== undefined) await applyPause({ db, bus }, 'connector', connector, pause);
      return connector;
    },

    async delete(viewer: Viewer, id: string, projectId?: string | null): Promise<void> {
      const where = visibleItem(viewer, 'Connector', id, projectId);
      const connector = await db.prisma.connector.findFirst({ where });
      if (!connector) throw notFound();
      await db.prisma.$transaction(async (tx) => {
        if ((await softDeleteConnectors(tx, where)) === 0) throw notFound();
        const changes = { type: connector.type };
        await recordAudit(tx, viewer, { action: 'connector.deleted', ...targetOf(connector), changes });
      });
      bus.publish(topics.deletions);
    },

    /**
     * Tests a connector. Verifies the credentials if the vendor offers a check without side effects. Otherwise, sends a
     * test event with a sample payload.
     */
    async test(
      viewer: Viewer,
      id: string,
      input: { eventType?: EventType | null },
      projectId?: string | null,
    ): Promise<{ probe: ProbeResult | null; delivery: Delivery | null }> {
      const where = visibleItem(viewer, 'Connector', id, projectId);
      const { eventType } = parseInput(testEventInput, input);
      const connector = await db.prisma.connector.findFirst({ where });
      if (!connector) throw notFound();
      const definition = getConnector(connector.type);
      requireSecrets(definition, open(connector));
      requireNoHold();
      const result = eventType ? undefined : await probe(connector, definition, open(connector));
      if (result) return { probe: result, delivery: null };
      const selected = expandEventTypes(connector.eventTypes);
      const type = eventType ?? [...selected].find((eventType) => definition.supportsEvent(eventType, selected))!;
      return { probe: null, delivery: await events.sendTest(connector.projectId, type, { connectorId: id }) };
    },
  };

  function open(connector: Connector): ConnectorConfig {
    return JSON.parse(secretBox.open(connector.secretConfig, place(connector.id, connector.projectId)));
  }
}

function matching({ types, ...filter }: ConnectorFilter) {
  return { ...(types && { type: { in: distinct(types) } }), ...matchingDestinations('Connector', filter) };
}

const targetOf = ({ id, projectId }: Connector) => ({ projectId, targetId: id });

/** Otherwise, anyone could have the operator's OAuth app send made-up refresh tokens to its vendor. */
function requireSameGrant(config: ConnectorConfig, grant: unknown): void {
  if (config.grant === undefined || config.grant === grant) return;
  throw invalidField('/config/grant', 'Can’t be entered. Connect the account instead.');
}

function requireSupportedEventType(definition: ConnectorDefinition, eventTypes: readonly string[]): void {
  const selected = expandEventTypes(eventTypes);
  if ([...selected].some((eventType) => definition.supportsEvent(eventType, selected))) return;
  throw invalidField('/eventTypes', `${definition.title} connectors don't support any of these event types.`);
}
