import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { Project } from '../projects/schema.ts';
import { shownUrl } from '../urls/stored-url.ts';
import type { EndpointService } from './service.ts';
import { priceUsdOf, warningsOf } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    endpoints: EndpointService;
  }
}

export const Endpoint = builder.prismaNode('Endpoint', {
  description: 'A paid route: a public path, the URL behind it, and a price per request.',
  id: { field: 'id', description: 'Identifier, `ep_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    path: t.exposeString('path', { description: 'Public path, in canonical form.' }),
    upstreamUrl: t.string({
      description: 'URL of the API behind it. API keys see its secrets masked.',
      resolve: ({ upstreamUrl }, _args, { viewer }) => shownUrl(viewer, upstreamUrl),
    }),
    priceUsd: t.string({
      description: 'Price per request in USD, a decimal string with at most 6 decimals.',
      resolve: priceUsdOf,
    }),
    description: t.exposeString('description', { nullable: true, description: 'For people.' }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether the gateway serves it.' }),
    warnings: t.stringList({
      description: 'What the seller should know about it, for example of a price that most clients refuse to pay.',
      resolve: warningsOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const EndpointConnection = builder.connectionObject(
  { name: 'EndpointConnection', type: Endpoint, description: 'A page of endpoints, newest first.' },
  { name: 'EndpointEdge', description: 'An endpoint and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  endpoint: t.prismaField({
    type: Endpoint,
    nullable: true,
    description: 'One endpoint of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `ep_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.endpoints.find(viewer, id, project.id, query),
  }),
  endpoints: t.connection(
    {
      type: Endpoint,
      description: 'Paid routes of the project.',
      resolve: (project, args, context, info) =>
        resolvePage('Endpoint', args, { context, info }, (query) =>
          context.services.endpoints.list(context.viewer, project.id, query),
        ),
    },
    EndpointConnection,
  ),
}));

builder.relayMutationField(
  'createEndpoint',
  {
    description: 'A new endpoint.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add it to.' }),
      path: t.string({
        required: true,
        description:
          'Public path, starting with a slash. A segment `:name` stands for any one, a last `*` for any rest.',
      }),
      upstreamUrl: t.string({
        required: true,
        description: 'URL of the API behind it, https. May use the placeholders of the path.',
      }),
      priceUsd: t.string({ required: true, description: 'Price per request in USD, for example "0.01".' }),
      description: t.string({ description: 'For people, at most 1000 characters.' }),
    }),
  },
  {
    description: 'Creates an endpoint. Records `endpoint.created`.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.endpoints.create(viewer, projectId, input),
  },
  {
    description: 'What `createEndpoint` made.',
    outputFields: (t) => ({
      endpoint: t.field({ type: Endpoint, description: 'The new endpoint.', resolve: (endpoint) => endpoint }),
    }),
  },
);

builder.relayMutationField(
  'updateEndpoint',
  {
    description: 'Changes to an endpoint. Fields left out stay as they are.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The endpoint to change.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
      path: t.string({ description: 'Public path, starting with a slash.' }),
      upstreamUrl: t.string({ description: 'URL of the API behind it, https.' }),
      priceUsd: t.string({ description: 'Price per request in USD, for example "0.01".' }),
      description: t.string({ description: 'For people, at most 1000 characters; null removes it.' }),
      isActive: t.boolean({ description: 'Whether the gateway serves it.' }),
    }),
  },
  {
    description: 'Changes an endpoint. A new price is recorded as `endpoint.pricing_changed`.',
    resolve: (_root, { input: { id, projectId, ...changes } }, { services, viewer }) =>
      services.endpoints.update(viewer, id, changes, projectId),
  },
  {
    description: 'What `updateEndpoint` changed.',
    outputFields: (t) => ({
      endpoint: t.field({ type: Endpoint, description: 'The endpoint as it is now.', resolve: (endpoint) => endpoint }),
    }),
  },
);

builder.relayMutationField(
  'deleteEndpoint',
  {
    description: 'The endpoint to delete.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The endpoint to delete.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
    }),
  },
  {
    description: 'Deletes an endpoint.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.endpoints.delete(viewer, input.id, input.projectId);
      return { endpointId: input.id };
    },
  },
  {
    description: 'What `deleteEndpoint` deleted.',
    outputFields: (t) => ({ endpointId: t.exposeID('endpointId', { description: 'Identifier of what is gone.' }) }),
  },
);
