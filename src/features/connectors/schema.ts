import { inVisibleProject } from '../../auth/access.ts';
import type { ConnectorType } from '../../connectors/definition.ts';
import { describeFields, supportedEventTypes } from '../../connectors/describe.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { ConnectorCategoryEnum, ConnectorTypeEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { totalCountField } from '../../schema/total-count.ts';
import { asDestination, DESTINATION_COLUMNS, destinationFields, FILTER_FIELD } from '../destinations/schema.ts';
import { Project } from '../projects/schema.ts';
import { ConnectorConfig } from './config-schema.ts';
import type { ConnectorService } from './service.ts';
import { typedConfigOf } from './typed-config.ts';

declare module '../../schema/context.ts' {
  interface Services {
    connectors: ConnectorService;
  }
}

export const Connector = builder.prismaNode('Connector', {
  description: 'A third-party service that receives events in its own format, for example, Slack or BigQuery.',
  id: { field: 'id', description: 'Identifier, `con_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  // The other columns can be large, so they are read only for documents that select them.
  select: DESTINATION_COLUMNS,
  fields: (t) => ({
    filter: t.expose('filter', FILTER_FIELD),
    type: t.field({
      type: ConnectorTypeEnum,
      description: 'The service.',
      select: { type: true },
      resolve: ({ type }) => type as ConnectorType,
    }),
    config: t.expose('config', {
      type: 'JSON',
      description:
        'The configuration, with the connector type’s fields. Secrets are masked as `••••` followed by their last four characters.',
    }),
    typedConfig: t.field({
      type: ConnectorConfig,
      nullable: true,
      description:
        'The typed configuration: each connector type has its own GraphQL type. Null if a required field isn’t set, because the connector ' +
        'was created before the field was added.',
      select: { type: true, config: true },
      resolve: typedConfigOf,
    }),
    nextProbeAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When Tollgate next checks whether the credentials work again. If they do, Tollgate resumes the connector. Null ' +
        'if the connector isn’t paused, if you paused it, if five deliveries in a row were rejected, or if the service ' +
        'doesn’t support this check.',
      select: { nextProbeAt: true },
      resolve: ({ isActive, nextProbeAt }) => (isActive ? nextProbeAt : null),
    }),
    credentialExpiresAt: t.expose('credentialExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the service stops accepting the stored credential. Reconnect the connector before then. Null if the ' +
        'service doesn’t report an expiration time. Only QuickBooks does.',
    }),
  }),
});

builder.objectFields(asDestination(Connector), destinationFields);

const ConnectorConnection = builder.connectionObject(
  {
    name: 'ConnectorConnection',
    type: Connector,
    description: 'A page of connectors, newest first.',
    fields: totalCountField,
  },
  { name: 'ConnectorEdge', description: 'A connector and its cursor.' },
);

const ConnectorFieldType = builder.simpleObject('ConnectorTypeField', {
  description: 'A field in a connector type’s config.',
  fields: (t) => ({
    name: t.string({ description: 'The name of the field in `config`.' }),
    title: t.string({ description: 'The label of the field.' }),
    description: t.string({ description: 'What to enter in the field.' }),
    kind: t.string({ description: '`text`, `list` (of strings), or `choice`.' }),
    required: t.boolean({ description: 'Whether the field is required.' }),
    secret: t.boolean({ description: 'Whether the field is write-only (a secret).' }),
    decidesAddress: t.boolean({
      description:
        'Whether the field determines where events are sent. If you change it, send every secret in the config again.',
    }),
    choices: t.stringList({ description: 'The allowed values of a `choice` field.' }),
    example: t.string({ nullable: true, description: 'An example value.' }),
  }),
});

const ConnectorTypeLimit = builder.simpleObject('ConnectorTypeLimit', {
  description: 'A vendor’s rate limit: at most `count` requests in any `perSeconds` seconds.',
  fields: (t) => ({
    count: t.int({ description: 'The maximum number of requests.' }),
    perSeconds: t.float({ description: 'The length of the time window, in seconds.' }),
    burst: t.int({ description: 'How many requests Tollgate can send in one burst after an idle period.' }),
    documentationUrl: t.string({ description: 'The vendor’s documentation on the limit.' }),
  }),
});

const ConnectorTypeInfo = builder.simpleObject('ConnectorTypeInfo', {
  description: 'A connector type and its config fields.',
  fields: (t) => ({
    type: t.field({ type: ConnectorTypeEnum, description: 'The connector type.' }),
    title: t.string({ description: 'The name of the service.' }),
    category: t.field({ type: ConnectorCategoryEnum, description: 'The category of the service.' }),
    description: t.string({ description: 'What the connector does.' }),
    documentationUrl: t.string({ description: 'The vendor’s documentation on how to get credentials.' }),
    fields: t.field({ type: [ConnectorFieldType], description: 'The config fields, in display order.' }),
    eventTypes: t.field({ type: [EventTypeEnum], description: 'The event types that the service can receive.' }),
    canProbe: t.boolean({ description: 'Whether the credentials can be verified without sending anything.' }),
    connectWith: t.string({
      nullable: true,
      description:
        'The vendor whose accounts you can connect with `startConnectorAuthorization`; null if you have to enter credentials.',
    }),
    vendorLimit: t.field({
      type: ConnectorTypeLimit,
      nullable: true,
      description: 'The vendor’s documented rate limit, which each connector stays within; null if none is known.',
    }),
  }),
});

builder.queryField('connectorTypes', (t) =>
  t.field({
    type: [ConnectorTypeInfo],
    nullable: true,
    description: 'All connector types with their config fields.',
    resolve: (_root, _args, { services }) =>
      listConnectors().map((definition) => ({
        type: definition.type,
        title: definition.title,
        category: definition.category,
        description: definition.description,
        documentationUrl: definition.documentationUrl,
        fields: describeFields(definition),
        eventTypes: supportedEventTypes(definition),
        canProbe: definition.probe !== undefined,
        connectWith: services.connectorAuthorizations.vendorOf(definition),
        vendorLimit: definition.vendorLimit ? { burst: 1, ...definition.vendorLimit } : null,
      })),
  }),
);

const ConnectorFilter = builder.inputType('ConnectorFilter', {
  description: 'Filters connectors. All conditions must match.',
  fields: (t) => ({
    types: t.field({ type: [ConnectorTypeEnum], description: 'Only connectors of these types.' }),
    name: t.string({ description: 'Only connectors whose name contains this text, regardless of case.' }),
    isActive: t.boolean({ description: 'Only connectors that are active (`true`) or disabled (`false`).' }),
    isPaused: t.boolean({ description: 'Only connectors whose deliveries are held (`true`) or not (`false`).' }),
    from: t.field({ type: 'DateTime', description: 'Only connectors created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only connectors created before this time.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  remainingConnectors: t.int({
    nullable: true,
    description: 'How many more connectors the owner’s account can have, across all projects; null means unlimited.',
    resolve: (project, _args, { services, viewer }) => services.connectors.quota(viewer, project),
  }),
  connector: t.prismaField({
    type: Connector,
    nullable: true,
    description: 'A connector in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `con_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.connectors.find(viewer, id, project.id, query),
  }),
  connectors: t.connection(
    {
      type: Connector,
      description: 'The project’s connectors.',
      args: { filter: t.arg({ type: ConnectorFilter, description: 'Filters the connectors.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage(
          'Connector',
          args,
          { context, info },
          (query) => context.services.connectors.list(context.viewer, project.id, filter ?? {}, query),
          () => context.services.connectors.count(context.viewer, project.id, filter ?? {}),
        ),
    },
    ConnectorConnection,
  ),
}));
