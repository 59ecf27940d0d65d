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

const Endpoint = builder.prismaNode('Endpoint', {
  description: 'A paid route: a public path, the API behind it, and a price per request.',
  id: { field: 'id', description: 'Identifier, `ep_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    path: t.exposeString('path', { description: 'Public path, in canonical form.' }),
    upstreamUrl: t.string({
      description: 'URL of the API behind the endpoint. If you read this URL with an API key, its secrets are masked.',
      resolve: ({ upstreamUrl }, _args, { viewer }) => shownUrl(viewer, upstreamUrl),
    }),
    priceUsd: t.string({
      description: 'Price per request in USD, as a decimal string with at most 6 decimal places.',
      resolve: priceUsdOf,
    }),
    description: t.exposeString('description', { nullable: true, description: 'Free-text description.' }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether the gateway serves this endpoint.' }),
    forwardedHeaders: t.exposeStringList('forwardedHeaders', {
      description: 'Names of the request headers that the API gets in addition to the usual ones, in lowercase.',
    }),
    warnings: t.stringList({
      description: 'Potential problems, for example, a price that most clients refuse to pay.',
      resolve: warningsOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

const EndpointConnection = builder.connectionObject(
  { name: 'EndpointConnection', type: Endpoint, description: 'A page of endpoints, newest first.' },
  { name: 'EndpointEdge', description: 'An endpoint and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  endpoint: t.prismaField({
    type: Endpoint,
    nullable: true,
    description: 'An endpoint in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `ep_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.endpoints.find(viewer, id, project.id, query),
  }),
  endpoints: t.connection(
    {
      type: Endpoint,
      description: 'The project’s endpoints.',
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
    description: 'Properties of the new endpoint.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add it to.' }),
      path: t.string({
        required: true,
        description:
          'Public path, starting with a slash. `:name` matches one segment; a trailing `*` matches the rest.',
      }),
      upstreamUrl: t.string({
        required: true,
        description: 'HTTPS URL of the API behind the endpoint. Can include placeholders from the path.',
      }),
      priceUsd: t.string({ required: true, description: 'Price per request in USD, for example, "0.01".' }),
      description: t.string({ description: 'Free-text description, up to 1,000 characters.' }),
      forwardedHeaders: t.stringList({
        description:
          'Names of request headers that the API gets in addition to the usual ones (up to 32), for example, "x-api-version".',
      }),
    }),
  },
  {
    description: 'Creates an endpoint and records an `endpoint.created` event.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.endpoints.create(viewer, projectId, input),
  },
  {
    description: 'The result of `createEndpoint`.',
    outputFields: (t) => ({
      endpoint: t.field({ type: Endpoint, description: 'The new endpoint.', resolve: (endpoint) => endpoint }),
    }),
  },
);

builder.relayMutationField(
  'updateEndpoint',
  {
    description: 'Changes to an endpoint. Omitted fields stay unchanged.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The endpoint to update.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      path: t.string({ description: 'Public path, starting with a slash.' }),
      upstreamUrl: t.string({ description: 'HTTPS URL of the API behind the endpoint.' }),
      priceUsd: t.string({ description: 'Price per request in USD, for example, "0.01".' }),
      description: t.string({ description: 'Free-text description, up to 1,000 characters. Null removes it.' }),
      isActive: t.boolean({ description: 'Whether the gateway serves this endpoint.' }),
      forwardedHeaders: t.stringList({
        description:
          'Names of request headers that the API gets in addition to the usual ones (up to 32). Replaces the list; an empty list removes all.',
      }),
    }),
  },
  {
    description: 'Updates an endpoint. A new price is recorded as an `endpoint.pricing_changed` event.',
    resolve: (_root, { input: { id, projectId, ...changes } }, { services, viewer }) =>
      services.endpoints.update(viewer, id, changes, projectId),
  },
  {
    description: 'The result of `updateEndpoint`.',
    outputFields: (t) => ({
      endpoint: t.field({ type: Endpoint, description: 'The updated endpoint.', resolve: (endpoint) => endpoint }),
    }),
  },
);

builder.relayMutationField(
  'deleteEndpoint',
  {
    description: 'The endpoint to delete.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The endpoint to delete.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
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
    description: 'The result of `deleteEndpoint`.',
    outputFields: (t) => ({
      endpointId: t.exposeID('endpointId', { description: 'The identifier of the deleted endpoint.' }),
    }),
  },
);
