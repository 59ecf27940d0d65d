import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import SimpleObjectsPlugin from '@pothos/plugin-simple-objects';
import { isObjectType } from 'graphql';
import { AppError } from '../errors.ts';
import type PrismaTypes from '../generated/pothos.ts';
import { getDatamodel } from '../generated/pothos.ts';
import { typeOfId } from '../ids.ts';
import type { GraphQLContext } from './context.ts';
import { costOfField } from './cost.ts';
import { RELAY_DESCRIPTIONS } from './relay-descriptions.ts';

/** The schema builder. Each feature defines its types in `features/<name>/schema.ts`. */
export const builder = new SchemaBuilder<{
  Context: GraphQLContext;
  PrismaTypes: PrismaTypes;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
  AuthScopes: { user: boolean };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    JSON: { Input: unknown; Output: unknown };
  };
}>({
  plugins: [ScopeAuthPlugin, RelayPlugin, PrismaPlugin, ComplexityPlugin, SimpleObjectsPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    // Credentials are checked before execution. Scopes only distinguish people from API keys.
    authScopes: ({ viewer }) => ({ user: viewer.kind === 'user' }),
    authorizeOnSubscribe: true,
    unauthorizedError: () => new AppError('FORBIDDEN'),
  },
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
    mutationInputArgOptions: { description: 'The input of the mutation.' },
    // A failed mutation must not hide the results of other mutations in the same document.
    relayMutationFieldOptions: { nullable: true },
    // An ID's prefix names its type, so GraphQL, REST, webhooks, and logs use the same IDs.
    encodeGlobalID: (_typename, id) => String(id),
    decodeGlobalID: (id) => ({ typename: typeOfId(id) ?? 'Unknown', id }),
    nodeQueryOptions: {
      description: 'Any object by its ID. Null if it doesn’t exist or you can’t see it.',
      nullable: true,
      // Some IDs don't belong to nodes (users, attempts), and some text isn't an ID.
      resolve: (_root, { id }, _context, { schema }, resolveNode) => {
        const type = schema.getType(id.typename);
        return isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node') ? resolveNode(id) : null;
      },
    },
    nodesQueryOptions: false,
  },
  prisma: {
    // Services load pages and items along with their relations. The plugin loads what a mutation's payload selects.
    client: (context) => context.prisma,
    dmmf: getDatamodel(),
    exposeDescriptions: false,
    onUnusedQuery: null,
  },
  complexity: {
    // This is only the cost of a field. The limit for a document is in `graphql/limits.ts`.
    fieldComplexity: (args, _context, field) => costOfField(args, field),
  },
});

builder.queryType({ description: 'All queries.' });
builder.mutationType({ description: 'All mutations.' });
builder.subscriptionType({ description: 'All subscriptions: events and changes as they happen.' });
