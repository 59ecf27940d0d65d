import { z } from 'zod';
import { id, paging } from '../inputs.ts';
import { defineTool, TO_CHANGE, TO_CREATE, TO_READ, ToolRefusal } from '../tool.ts';
import { pageOf, showPage } from '../view.ts';
import { endpointView } from '../views.ts';

const path = z.string().max(1_000).describe('Public path, starting with a slash. `:name` matches one segment.');
const priceUsd = z
  .string()
  .max(32)
  .describe('Price per request in USD, for example, "0.01". "0" makes the endpoint free.');
const description = z.string().max(1_000).describe('Free-text description. Shown to buyers.');
const methods = z
  .array(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']))
  .max(6)
  .describe('The HTTP methods that the endpoint serves. Default: GET, HEAD, and POST.');
const timeoutSeconds = z.int().min(1).max(600).describe('Time limit for the API behind the endpoint, in seconds.');

const change = z.object({ field: z.string(), before: z.unknown(), after: z.unknown() });

export const endpointTools = [
  defineTool({
    name: 'list_endpoints',
    title: 'List endpoints',
    description: 'Lists the paid routes of the project with their prices.',
    requires: TO_READ,
    effect: 'none',
    input: paging,
    output: pageOf(endpointView),
    run: (query, { tollgate }) => showPage(tollgate.endpoints.list(query), endpointView),
  }),
  defineTool({
    name: 'get_endpoint',
    title: 'Get an endpoint',
    description: 'Gets one paid route.',
    requires: TO_READ,
    effect: 'none',
    input: { endpointId: id('ep') },
    output: endpointView.schema,
    run: async ({ endpointId }, { tollgate }) => endpointView.show(await tollgate.endpoints.get(endpointId)),
  }),
  defineTool({
    name: 'create_endpoint',
    title: 'Create an endpoint',
    description:
      'Creates a paid route in front of an API. The route is served immediately. Headers with credentials for the API can be added only in the console or with the API.',
    requires: TO_CREATE,
    effect: 'adds',
    input: {
      path,
      priceUsd,
      upstreamUrl: z.string().max(2_000).describe('HTTPS URL of the API behind the endpoint.'),
      description: description.optional(),
      methods: methods.optional(),
      timeoutSeconds: timeoutSeconds.optional(),
    },
    output: endpointView.schema,
    run: async (input, { tollgate }) => endpointView.show(await tollgate.endpoints.create(input)),
  }),
  defineTool({
    name: 'update_endpoint',
    title: 'Change an endpoint',
    description:
      'Changes the price, path, description, methods, or time limit of a paid route, or turns it on or off. Returns what changed, with old and new values. A new price takes effect immediately.',
    requires: TO_CHANGE,
    effect: 'replaces',
    input: {
      endpointId: id('ep'),
      path: path.optional(),
      priceUsd: priceUsd.optional(),
      description: description.nullable().optional(),
      methods: methods.optional(),
      timeoutSeconds: timeoutSeconds.optional(),
      isActive: z.boolean().optional().describe('Whether the gateway serves the endpoint.'),
    },
    output: z.object({ endpoint: endpointView.schema, changes: z.array(change) }),
    async run({ endpointId, ...fields }, { tollgate, ask }) {
      const before = endpointView.show(await tollgate.endpoints.get(endpointId));
      if (fields.priceUsd !== undefined && fields.priceUsd !== before.priceUsd) {
        const reply = await ask(
          `Change the price of ${before.path} from ${before.priceUsd} to ${fields.priceUsd} USD?`,
        );
        if (reply === 'declined') throw new ToolRefusal('The user declined. Nothing was changed.');
      }
      const endpoint = endpointView.show(await tollgate.endpoints.update(endpointId, fields));
      const changed = Object.keys(fields).filter((name) => !isSame(before[name], endpoint[name]));
      const changes = changed.map((field) => ({ field, before: before[field], after: endpoint[field] }));
      return { endpoint, changes };
    },
  }),
];

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
