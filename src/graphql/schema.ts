import '../schema/scalars.ts';
import '../features/installation/schema.ts';
import '../features/users/schema.ts';
import '../features/projects/schema.ts';
import '../features/projects/upstream-secret/schema.ts';
import '../features/projects/networks/schema.ts';
import '../features/projects/hosts/schema.ts';
import '../features/projects/buyers/schema.ts';
import '../features/endpoints/schema.ts';
import '../features/endpoints/changes/schema.ts';
import '../features/imports/schema.ts';
import '../features/api-keys/schema.ts';
import '../features/webhooks/schema.ts';
import '../features/webhooks/changes/schema.ts';
import '../features/connectors/schema.ts';
import '../features/connectors/changes/schema.ts';
import '../features/connectors/authorizations/schema.ts';
import '../features/project-copies/schema.ts';
import '../features/events/schema.ts';
import '../features/deliveries/schema.ts';
import '../features/deliveries/explanation/schema.ts';
import '../features/deliveries/test-events/schema.ts';
import '../features/replays/schema.ts';
import '../features/payments/schema.ts';
import '../features/customers/schema.ts';
import '../features/revenue/schema.ts';
import '../features/audit/schema.ts';
import '../features/delivery-stats/schema.ts';
import '../features/notices/schema.ts';
import '../features/members/schema.ts';
import '../features/members/invitations/schema.ts';
import '../features/members/transfers/schema.ts';
import '../features/search/schema.ts';
import '../features/operator/schema.ts';
import '../features/accounts/schema.ts';
import { type GraphQLField, type GraphQLObjectType, type GraphQLSchema, isObjectType } from 'graphql';
import { requireMember } from '../library-member.ts';
import { builder } from '../schema/builder.ts';
import { requireNodeLoader } from '../schema/nodes.ts';
import { requirePermissions } from '../schema/require-permissions.ts';
import { stopAtDeadline } from './deadline.ts';

/** The whole schema. `schema.graphql` is its printed form. */
export const schema: GraphQLSchema = requirePermissions(stopAtDeadline(readColumns(builder.toSchema())));

/**
 * Makes IDs and columns plain properties. Pothos would resolve each ID to a promise in order to encode it, and a single
 * promise makes the executor handle the whole object asynchronously. Our IDs aren't encoded. For each column of each row,
 * Pothos would look up whether its query has read it, which takes longer than everything else about it.
 */
function readColumns(built: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(built.getTypeMap())) {
    if (!isObjectType(type)) continue;
    const isNode = type.getInterfaces().some(({ name }) => name === 'Node');
    for (const field of Object.values(type.getFields())) {
      if (isNode && field.name === 'id') {
        requireMember('@pothos/core 4.15.1', field, 'resolve');
        delete field.resolve;
      } else if (field.extensions.pothosPrismaVariant === field.name) {
        readColumn(type, field);
      }
    }
    if (isNode) requireNodeLoader(type);
  }
  return built;
}

/** Columns that are read only for documents that select them may be missing. Pothos reads these. */
function readColumn({ extensions }: GraphQLObjectType, field: Column): void {
  const alwaysRead = extensions.pothosPrismaSelect as Record<string, unknown> | undefined;
  const { name, resolve: load } = field;
  if (alwaysRead === undefined || alwaysRead[name]) delete field.resolve;
  else field.resolve = (row, ...rest) => (row[name] === undefined ? load!(row, ...rest) : row[name]);
}

type Column = GraphQLField<Readonly<Record<string, unknown>>, unknown>;
