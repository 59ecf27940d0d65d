import { builder } from '../../../schema/builder.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
import { UpstreamHeaderInput } from '../../headers/schema.ts';
import { ENDPOINT_RULES } from '../input.ts';
import { EndpointProtocolEnum } from '../protocol-schema.ts';
import { Endpoint } from '../schema.ts';
import { SettlementOrderEnum } from '../settlement-schema.ts';

builder.relayMutationField(
  'createEndpoint',
  {
    description: 'Properties of the new endpoint.',
    extensions: checkedBy(ENDPOINT_RULES.createInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add the endpoint to.' }),
      path: t.string({
        required: true,
        description:
          'Public path, starting with a slash. `:name` matches one segment; a trailing `*` matches the rest.',
      }),
      upstreamUrl: t.string({
        required: true,
        description: 'HTTPS URL of the API behind the endpoint. Can include placeholders from the path.',
      }),
      priceUsd: t.string({
        required: true,
        description: 'Price per request in USD, for example, "0.01". "0" makes the endpoint free.',
      }),
      description: t.string({ description: 'Free-text description, up to 1,000 characters.' }),
      mimeType: t.string({
        description: 'The media type of the endpoint’s responses, for example, "application/json".',
      }),
      inputSchema: t.field({
        type: 'JSON',
        description:
          'JSON Schemas (draft 2020-12, without `$ref`) for the query, the path’s parameters, the headers, and the body, up to 32 KB and 2,000 values: `{ "query": …, "path": …, "headers": …, "body": … }`. Shown to buyers.',
      }),
      exampleResponse: t.field({
        type: 'JSON',
        description: 'An example response: any JSON value, up to 32 KB and 2,000 values. Shown to buyers.',
      }),
      tags: t.stringList({
        description: 'Topics that help buyers find the endpoint: up to 10, each up to 32 ASCII characters.',
      }),
      forwardedHeaders: t.stringList({
        description:
          'Names of up to 32 request headers to forward to the API in addition to the default ones, for example, "x-api-version".',
      }),
      upstreamHeaders: t.field({
        type: [UpstreamHeaderInput],
        description:
          'Headers for the gateway to add to requests to the API, such as its credentials. Up to 20 headers, totaling up to 8,192 bytes.',
      }),
      methods: t.stringList({
        description:
          'The HTTP methods that the endpoint serves: any of GET, HEAD, POST, PUT, PATCH, and DELETE. Default: GET, HEAD, and POST. To serve all methods, list all six.',
      }),
      protocol: t.field({
        type: EndpointProtocolEnum,
        description:
          'What is behind the endpoint. Defaults to `HTTP`. With `MCP`, buyers pay for tool calls, the methods are GET, POST, and DELETE, and `settlement` must be `AFTER_RESPONSE`.',
      }),
      settlement: t.field({
        type: SettlementOrderEnum,
        description: 'When the endpoint’s payments are settled. Defaults to `AFTER_RESPONSE`.',
      }),
      timeoutSeconds: t.int({
        description:
          'Time limit for the API, in seconds. It covers the whole response and can be up to 60. With `BEFORE_REQUEST`, it covers the wait for the response headers and for each chunk, and can be up to 600. Defaults to 60.',
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
      endpoint: t.prismaField({
        type: Endpoint,
        description: 'The new endpoint.',
        resolve: (query, endpoint) => loadedRow(query, endpoint),
      }),
    }),
  },
);

builder.relayMutationField(
  'updateEndpoint',
  {
    description: 'Changes to an endpoint. Omitted fields stay unchanged.',
    extensions: checkedBy(ENDPOINT_RULES.updateInput),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The endpoint to update.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      path: t.string({ description: 'Public path, starting with a slash.' }),
      upstreamUrl: t.string({ description: 'HTTPS URL of the API behind the endpoint.' }),
      priceUsd: t.string({
        description: 'Price per request in USD, for example, "0.01". "0" makes the endpoint free.',
      }),
      description: t.string({
        description: 'Free-text description, up to 1,000 characters. Set to null to remove it.',
      }),
      mimeType: t.string({
        description:
          'The media type of the endpoint’s responses, for example, "application/json". Set to null to remove it.',
      }),
      inputSchema: t.field({
        type: 'JSON',
        description:
          'JSON Schemas (draft 2020-12, without `$ref`) for the query, the path’s parameters, the headers, and the body, up to 32 KB and 2,000 values: `{ "query": …, "path": …, "headers": …, "body": … }`. Set to null to remove them.',
      }),
      exampleResponse: t.field({
        type: 'JSON',
        description: 'An example response: any JSON value, up to 32 KB and 2,000 values. Set to null to remove it.',
      }),
      tags: t.stringList({
        description:
          'Topics that help buyers find the endpoint: up to 10, each up to 32 ASCII characters. Replaces the list. Set to null to remove all tags.',
      }),
      isActive: t.boolean({ description: 'Whether the gateway serves this endpoint.' }),
      forwardedHeaders: t.stringList({
        description:
          'Names of up to 32 request headers to forward to the API in addition to the default ones. Replaces the list. Send an empty list to remove all names.',
      }),
      upstreamHeaders: t.field({
        type: [UpstreamHeaderInput],
        description:
          'Headers for the gateway to add to requests to the API. Replaces the list. Set to null or an empty list to remove all headers. If you change `upstreamUrl`, or the part of `path` that starts with its first placeholder, send the values again.',
      }),
      methods: t.stringList({
        description:
          'The HTTP methods that the endpoint serves: any of GET, HEAD, POST, PUT, PATCH, and DELETE. Replaces the list. To serve all methods, list all six.',
      }),
      protocol: t.field({
        type: EndpointProtocolEnum,
        description:
          'What is behind the endpoint. If you change this, `methods` is also reset to the default, unless you set it.',
      }),
      settlement: t.field({ type: SettlementOrderEnum, description: 'When the endpoint’s payments are settled.' }),
      timeoutSeconds: t.int({
        description:
          'Time limit for the API, in seconds. It covers the whole response and can be up to 60. With `BEFORE_REQUEST`, it covers the wait for the response headers and for each chunk, and can be up to 600. Set to null to restore the default, 60.',
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
      endpoint: t.prismaField({
        type: Endpoint,
        description: 'The updated endpoint.',
        resolve: (query, endpoint) => loadedRow(query, endpoint),
      }),
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
