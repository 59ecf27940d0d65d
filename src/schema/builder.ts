import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import SimpleObjectsPlugin from '@pothos/plugin-simple-objects';
import type { TenantFilter } from '../database/tenant-filter.ts';
import type PrismaTypes from '../generated/pothos.ts';
import { getDatamodel } from '../generated/pothos.ts';
import { typeOfId } from '../ids.ts';
import type { Countable } from './connections.ts';
import type { GraphQLContext } from './context.ts';
import { costOfField } from './cost.ts';
import { isNodeId, loadNodes } from './nodes.ts';
import { RELAY_DESCRIPTIONS } from './relay-descriptions.ts';

/** A node is found by its ID and a tenant filter. */
type FilteredTypes = {
  [Name in keyof PrismaTypes]: Omit<PrismaTypes[Name], 'WhereUnique'> & {
    WhereUnique: PrismaTypes[Name]['WhereUnique'] & TenantFilter;
  };
};

/** The schema builder. Each feature defines its types in `features/<name>/schema.ts`. */
export const builder = new SchemaBuilder<{
  Context: GraphQLContext;
  PrismaTypes: FilteredTypes;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
  Connection: Countable;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    JSON: { Input: unknown; Output: unknown };
  };
}>({
  plugins: [RelayPlugin, PrismaPlugin, ComplexityPlugin, SimpleObjectsPlugin],
  defaultFieldNullability: false,
  relay: {
    cursorType: 'String',
    clientMutationId: 'omit',
    ...RELAY_DESCRIPTIONS,
    nodesOnConnection: { description: 'The items on this page.' },
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      description: 'The items on this page, with their cursors.',
    },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    mutationInputArgOptions: { description: 'Input for the mutation.' },
    // A failed mutation must not hide the results of other mutations in the same document.
    relayMutationFieldOptions: { nullable: true },
    // An ID's prefix names its type, so GraphQL, REST, webhooks, and logs use the same IDs.
    encodeGlobalID: (_typename, id) => String(id),
    decodeGlobalID: (id) => ({ typename: typeOfId(id) ?? 'Unknown', id }),
    nodeQueryOptions: {
      description: 'Any object by its ID. Null if the object doesn’t exist or you can’t see it.',
      nullable: true,
      resolve: (_root, { id }, _context, info, resolveNode) => (isNodeId(info, id) ? resolveNode(id) : null),
    },
    nodesQueryOptions: {
      description:
        'Up to 100 objects, looked up by ID and returned in the order of the IDs. An entry is null if the object doesn’t exist or you ' +
        'can’t see it.',
      nullable: { list: true, items: true },
      args: { ids: { description: 'The IDs.' } },
      resolve: (_root, { ids }, context, info, resolveNodes) => loadNodes(ids, context, info, resolveNodes),
    },
  },
  prisma: {
    // Services load pages and items along with their relations. The plugin loads what a mutation's payload selects.
    client: (context) => context.prisma,
    dmmf: getDatamodel(),
    exposeDescriptions: false,
    // A resolver that ignores its query loads relations one by one. See `loadedRow`.
    onUnusedQuery: process.env.NODE_ENV === 'production' ? null : 'error',
  },
  complexity: {
    // This is only the cost of a field. The limit for a document is in `graphql/limits.ts`.
    fieldComplexity: (args, _context, field) => costOfField(args, field),
  },
});

builder.queryType({ description: 'All queries.' });
builder.mutationType({ description: 'All mutations.' });
builder.subscriptionType({ description: 'All subscriptions. They deliver events and changes as they happen.' });
