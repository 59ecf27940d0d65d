import { inVisibleProject } from '../../auth/access.ts';
import type { ConnectorType } from '../../connectors/definition.ts';
import { carriedKinds, describeFields } from '../../connectors/describe.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { ConnectorCategoryEnum, ConnectorTypeEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { addDestinationFields, subscriptionChanges, subscriptionInputs } from '../destinations/schema.ts';
import { Project } from '../projects/schema.ts';
import type { ConnectorService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    connectors: ConnectorService;
  }
}

export const Connector = builder.prismaNode('Connector', {
  description: 'A third-party service that is told of events in its own language.',
  id: { field: 'id', description: 'Identifier, `con_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    type: t.field({
      type: ConnectorTypeEnum,
      description: 'Which service.',
      resolve: ({ type }) => type as ConnectorType,
    }),
    config: t.field({
      type: 'JSON',
      description: 'The config of its type. Secret fields read as `••••` and their last four characters.',
      resolve: ({ config }) => config,
    }),
    pausedReason: t.exposeString('pausedReason', {
      nullable: true,
      description:
        'Why deliveries are held: the credential was refused, or five deliveries in a row for the same reason. A new config releases them, and so does switching it on.',
    }),
    pausedAt: t.expose('pausedAt', { type: 'DateTime', nullable: true, description: 'When it was paused.' }),
  }),
});

addDestinationFields(Connector);

export const ConnectorConnection = builder.connectionObject(
  { name: 'ConnectorConnection', type: Connector, description: 'A page of connectors, newest first.' },
  { name: 'ConnectorEdge', description: 'A connector and its cursor.' },
);

const ConnectorFieldType = builder.simpleObject('ConnectorTypeField', {
  description: 'A config field of a connector type.',
  fields: (t) => ({
    name: t.string({ description: 'Its name in `config`.' }),
    title: t.string({ description: 'Its name for people.' }),
    description: t.string({ description: 'What to put there.' }),
    kind: t.string({ description: '`text`, `list` (of texts) or `choice`.' }),
    required: t.boolean({ description: 'Whether it must be given.' }),
    secret: t.boolean({ description: 'Whether it can never be read back.' }),
    decidesAddress: t.boolean({
      description: 'Whether it decides where events are sent. A change of it needs every secret of the config again.',
    }),
    choices: t.stringList({ description: 'What a `choice` may be.' }),
    example: t.string({ nullable: true, description: 'What a value looks like.' }),
  }),
});

const ConnectorTypeInfo = builder.simpleObject('ConnectorTypeInfo', {
  description: 'A connector type and what its config needs.',
  fields: (t) => ({
    type: t.field({ type: ConnectorTypeEnum, description: 'The type.' }),
    title: t.string({ description: 'Name of the service.' }),
    category: t.field({ type: ConnectorCategoryEnum, description: 'What kind of service it is.' }),
    description: t.string({ description: 'What arrives there.' }),
    documentationUrl: t.string({ description: 'The vendor’s page on the credential.' }),
    fields: t.field({ type: [ConnectorFieldType], description: 'Config fields, in order.' }),
    eventTypes: t.field({ type: [EventTypeEnum], description: 'Kinds of events it carries.' }),
    canProbe: t.boolean({ description: 'Whether the credentials can be checked without sending anything.' }),
  }),
});

builder.queryField('connectorTypes', (t) =>
  t.field({
    type: [ConnectorTypeInfo],
    nullable: true,
    description: 'Every connector type with its config fields.',
    resolve: () =>
      listConnectors().map((definition) => ({
        type: definition.type,
        title: definition.title,
        category: definition.category,
        description: definition.description,
        documentationUrl: definition.documentationUrl,
        fields: describeFields(definition),
        eventTypes: carriedKinds(definition),
        canProbe: definition.probe !== undefined,
      })),
  }),
);

builder.objectFields(Project, (t) => ({
  connector: t.prismaField({
    type: Connector,
    nullable: true,
    description: 'One connector of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `con_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.connectors.find(viewer, id, project.id, query),
  }),
  connectors: t.connection(
    {
      type: Connector,
      description: 'Connectors of the project.',
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
    description: 'A new connector.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add it to.' }),
      type: t.field({ type: ConnectorTypeEnum, required: true, description: 'Which service.' }),
      config: t.field({ type: 'JSON', required: true, description: 'The config of its type, see `connectorTypes`.' }),
      ...subscriptionInputs(t),
    }),
  },
  {
    description: 'Creates a connector, if the tier allows one more.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.connectors.create(viewer, projectId, input),
  },
  {
    description: 'What `createConnector` made.',
    outputFields: (t) => ({
      connector: t.field({ type: Connector, description: 'The new connector.', resolve: (connector) => connector }),
    }),
  },
);

builder.relayMutationField(
  'updateConnector',
  {
    description: 'Changes to a connector. Fields left out stay as they are.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector to change.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
      config: t.field({
        type: 'JSON',
        description:
          'Config fields to change; the others, and redacted values sent back, stay. Null removes a field. A change of where events are sent needs every secret again.',
      }),
      ...subscriptionChanges(t),
    }),
  },
  {
    description: 'Changes a connector.',
    resolve: (_root, { input: { id, projectId, ...changes } }, { services, viewer }) =>
      services.connectors.update(viewer, id, changes, projectId),
  },
  {
    description: 'What `updateConnector` changed.',
    outputFields: (t) => ({
      connector: t.field({
        type: Connector,
        description: 'The connector as it is now.',
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
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
    }),
  },
  {
    description: 'Deletes a connector with its history.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.connectors.delete(viewer, input.id, input.projectId);
      return { connectorId: input.id };
    },
  },
  {
    description: 'What `deleteConnector` deleted.',
    outputFields: (t) => ({ connectorId: t.exposeID('connectorId', { description: 'Identifier of what is gone.' }) }),
  },
);
