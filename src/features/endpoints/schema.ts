import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { type PageSlice, relationsOfNodes, resolvePage, resolveSlice } from '../../schema/connections.ts';
import { costOfKilobytes, LONG_TEXT } from '../../schema/cost.ts';
import { totalCountField } from '../../schema/total-count.ts';
import { UpstreamHeader } from '../headers/schema.ts';
import { Project } from '../projects/schema.ts';
import { shownUrl } from '../urls/stored-url.ts';
import { EndpointFilter, EndpointOrderEnum } from './list-schema.ts';
import { methodsOf } from './methods.ts';
import { ENDPOINT_ORDERS, endpointCursors } from './orders.ts';
import { priceUsdOf } from './price-usd.ts';
import { EndpointProtocolEnum } from './protocol-schema.ts';
import type { EndpointService } from './service.ts';
import { warningsOf } from './service.ts';
import { SettlementOrderEnum } from './settlement-schema.ts';
import { shownUpstreamHeaders } from './upstream-headers.ts';

declare module '../../schema/context.ts' {
  interface Services {
    endpoints: EndpointService;
  }
}

const LARGE_JSON = { type: 'JSON', nullable: true, complexity: costOfKilobytes(32) } as const;

export const Endpoint = builder.prismaNode('Endpoint', {
  description: 'A paid route: a public path, the API behind it, and a price per request.',
  id: { field: 'id', description: 'Identifier, `ep_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  // Columns that can be large are read only if a document selects them.
  select: {
    id: true,
    projectId: true,
    path: true,
    upstreamUrl: true,
    priceAtomic: true,
    isActive: true,
    methods: true,
    mimeType: true,
    tags: true,
    protocol: true,
    settlement: true,
    timeoutSeconds: true,
    createdAt: true,
    updatedAt: true,
  },
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the endpoint belongs to.' }),
    path: t.exposeString('path', { ...LONG_TEXT, description: 'Public path, in canonical form.' }),
    upstreamUrl: t.string({
      ...LONG_TEXT,
      description: 'URL of the API behind the endpoint. Its secrets are masked for API keys and for the role `VIEWER`.',
      resolve: ({ projectId, upstreamUrl }, _args, { viewer }) => shownUrl(viewer, projectId, upstreamUrl),
    }),
    priceUsd: t.string({
      description:
        'Price per request, or per tool call of an MCP server, in USD, as a decimal string with at most 6 decimal places. "0" is free.',
      resolve: priceUsdOf,
    }),
    description: t.exposeString('description', {
      ...LONG_TEXT,
      nullable: true,
      description: 'Free-text description.',
    }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether the gateway serves this endpoint.' }),
    forwardedHeaders: t.exposeStringList('forwardedHeaders', {
      ...LONG_TEXT,
      description:
        'Lowercase names of the request headers that are forwarded to the API in addition to the default ones.',
    }),
    upstreamHeaders: t.field({
      type: [UpstreamHeader],
      description: 'Headers that the gateway adds to requests to the API, such as its credentials.',
      select: { upstreamHeaders: true },
      resolve: shownUpstreamHeaders,
    }),
    methods: t.stringList({
      description:
        'The HTTP methods that the endpoint serves, in uppercase. Other requests get 405. Several endpoints can have the same path with different methods, for example, to set a price per method.',
      resolve: (endpoint) => [...methodsOf(endpoint)],
    }),
    mimeType: t.exposeString('mimeType', {
      nullable: true,
      description: 'The media type of the endpoint’s responses. Shown to buyers.',
    }),
    inputSchema: t.expose('inputSchema', {
      ...LARGE_JSON,
      description:
        'JSON Schemas for the query, the path’s parameters, the headers, and the body: `{ "query": …, "path": …, "headers": …, "body": … }`. Shown to buyers.',
    }),
    exampleResponse: t.expose('exampleResponse', {
      ...LARGE_JSON,
      description: 'An example response. Shown to buyers.',
    }),
    tags: t.exposeStringList('tags', { description: 'Topics that help buyers find the endpoint.' }),
    protocol: t.expose('protocol', { type: EndpointProtocolEnum, description: 'What is behind the endpoint.' }),
    settlement: t.expose('settlement', {
      type: SettlementOrderEnum,
      description: 'When the endpoint’s payments are settled.',
    }),
    timeoutSeconds: t.exposeInt('timeoutSeconds', {
      nullable: true,
      description: 'Time limit for the API in seconds. Null means 60.',
    }),
    warnings: t.stringList({
      description: 'Potential problems, for example, a price that most clients refuse to pay.',
      resolve: warningsOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the endpoint was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the endpoint was last changed.' }),
  }),
});

const EndpointConnection = builder.connectionObject(
  {
    name: 'EndpointConnection',
    type: Endpoint,
    description: 'A page of endpoints, newest first.',
    fields: totalCountField,
  },
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
      args: {
        filter: t.arg({ type: EndpointFilter, description: 'Filters the endpoints.' }),
        orderBy: t.arg({
          type: EndpointOrderEnum,
          required: true,
          defaultValue: 'NEWEST',
          description: 'How to sort the endpoints.',
        }),
      },
      resolve: (project, { filter, orderBy, ...args }, context, info) => {
        const { endpoints } = context.services;
        const matching = filter ?? {};
        const countAll = () => endpoints.count(context.viewer, project.id, matching);
        if (orderBy === 'NEWEST') {
          return resolvePage(
            ...(['Endpoint', args, { context, info }] as const),
            (query) => endpoints.list(context.viewer, project.id, matching, query),
            countAll,
          );
        }
        const order = ENDPOINT_ORDERS[orderBy];
        const load = (slice: PageSlice) =>
          endpoints.listInOrder(context.viewer, project.id, matching, order, {
            ...slice,
            relations: relationsOfNodes({ context, info }),
          });
        return resolveSlice(args, endpointCursors(order), load, countAll);
      },
    },
    EndpointConnection,
  ),
}));
