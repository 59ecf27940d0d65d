import { inVisibleProject } from '../../auth/access.ts';
import type { ConnectorType } from '../../connectors/definition.ts';
import { carriedKinds, describeFields } from '../../connectors/describe.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { ConnectorCategoryEnum, ConnectorTypeEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { asDestination, destinationFields, subscriptionChanges, subscriptionInputs } from '../destinations/schema.ts';
import { Project } from '../projects/schema.ts';
import type { ConnectorService } from './service.ts';

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
  fields: (t) => ({
    type: t.field({
      type: ConnectorTypeEnum,
      description: 'The service.',
      resolve: ({ type }) => type as ConnectorType,
    }),
    config: t.field({
      type: 'JSON',
      description:
        'The configuration, with the connector type’s fields. Secrets are masked as `••••` followed by their last four characters.',
      resolve: ({ config }) => config,
    }),
    nextProbeAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When Tollgate next checks whether the credentials work again. If they do, it resumes the connector. Null if ' +
        'the connector isn’t paused, if you paused it, if it rejected five deliveries in a row, or if its service has ' +
        'no such check.',
      resolve: ({ isActive, nextProbeAt }) => (isActive ? nextProbeAt : null),
    }),
    credentialExpiresAt: t.expose('credentialExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the service stops accepting the stored credential. Connect the connector again before then. Null if the ' +
        'service doesn’t say, which only QuickBooks does.',
    }),
  }),
});

builder.objectFields(asDestination(Connector), destinationFields);

const ConnectorConnection = builder.connectionObject(
  { name: 'ConnectorConnection', type: Connector, description: 'A page of connectors, newest first.' },
  { name: 'ConnectorEdge', description: 'A connector and its cursor.' },
);

const ConnectorFieldType = builder.simpleObject('ConnectorTypeField', {
  description: 'A field in a connector type’s config.',
  fields: (t) => ({
    name: t.string({ description: 'The name of the field in `config`.' }),
    title: t.string({ description: 'The label of the field.' }),
    description: t.string({ description: 'What to enter.' }),
    kind: t.string({ description: '`text`, `list` (of strings), or `choice`.' }),
    required: t.boolean({ description: 'Whether the field is required.' }),
    secret: t.boolean({ description: 'Whether the field is write-only (a secret).' }),
    decidesAddress: t.boolean({
      description:
        'Whether the field determines where events are sent. To change it, send every secret in the config again.',
    }),
    choices: t.stringList({ description: 'The allowed values of a `choice`.' }),
    example: t.string({ nullable: true, description: 'An example value.' }),
  }),
});

const ConnectorTypeLimit = builder.simpleObject('ConnectorTypeLimit', {
  description: 'A vendor’s rate limit: at most `count` requests in any `perSeconds` seconds.',
  fields: (t) => ({
    count: t.int({ description: 'The maximum number of requests.' }),
    perSeconds: t.float({ description: 'The length of the time window, in seconds.' }),
    burst: t.int({ description: 'How many requests Tollgate sends at once after a pause.' }),
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
    eventTypes: t.field({ type: [EventTypeEnum], description: 'The event types it can deliver.' }),
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
    description: 'Every connector type with its config fields.',
    resolve: (_root, _args, { services }) =>
      listConnectors().map((definition) => ({
        type: definition.type,
        title: definition.title,
        category: definition.category,
        description: definition.description,
        documentationUrl: definition.documentationUrl,
        fields: describeFields(definition),
        eventTypes: carriedKinds(definition),
        canProbe: definition.probe !== undefined,
        connectWith: services.connectorAuthorizations.vendorOf(definition),
        vendorLimit: definition.vendorLimit ? { burst: 1, ...definition.vendorLimit } : null,
      })),
  }),
);

builder.objectFields(Project, (t) => ({
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
      resolve: (project, args, context, info) =>
        resolvePage('Connector', args, { context, info }, (query) =>
          context.services.connectors.list(context.viewer, project.id, query),
        ),
    },
    ConnectorConnection,
  ),
}));

builder.relayMutationField(
  'createConnector',
  {
    description: 'Properties of the new connector.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add it to.' }),
      type: t.field({ type: ConnectorTypeEnum, required: true, description: 'The service.' }),
      config: t.field({
        type: 'JSON',
        required: true,
        description: 'The configuration. See `connectorTypes` for the fields of each type.',
      }),
      ...subscriptionInputs(t),
    }),
  },
  {
    description: 'Creates a connector. Your tier limits how many you can have.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.connectors.create(viewer, projectId, input),
  },
  {
    description: 'The result of `createConnector`.',
    outputFields: (t) => ({
      connector: t.field({ type: Connector, description: 'The new connector.', resolve: (connector) => connector }),
    }),
  },
);

builder.relayMutationField(
  'updateConnector',
  {
    description: 'Changes to a connector. Omitted fields stay unchanged.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector to update.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      config: t.field({
        type: 'JSON',
        description:
          'The config fields to change. Omitted fields, and masked secrets that you send back, stay unchanged. Null removes a field. To change where events are sent, send every secret again.',
      }),
      ...subscriptionChanges(t),
    }),
  },
  {
    description: 'Updates a connector.',
    resolve: (_root, { input: { id, projectId, ...changes } }, { services, viewer }) =>
      services.connectors.update(viewer, id, changes, projectId),
  },
  {
    description: 'The result of `updateConnector`.',
    outputFields: (t) => ({
      connector: t.field({
        type: Connector,
        description: 'The updated connector.',
        resolve: (connector) => connector,
      }),
    }),
  },
);

builder.relayMutationField(
  'deleteConnector',
  {
    description: 'The connector to delete.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector to delete.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Deletes a connector and its delivery history.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.connectors.delete(viewer, input.id, input.projectId);
      return { connectorId: input.id };
    },
  },
  {
    description: 'The result of `deleteConnector`.',
    outputFields: (t) => ({
      connectorId: t.exposeID('connectorId', { description: 'The identifier of the deleted connector.' }),
    }),
  },
);
