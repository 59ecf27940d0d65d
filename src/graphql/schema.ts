import '../schema/scalars.ts';
import '../features/users/schema.ts';
import '../features/projects/schema.ts';
import '../features/endpoints/schema.ts';
import '../features/api-keys/schema.ts';
import '../features/webhooks/schema.ts';
import '../features/connectors/schema.ts';
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
import type { GraphQLSchema } from 'graphql';
import { builder } from '../schema/builder.ts';
import { stopAtDeadline } from './deadline.ts';

/** The whole schema. `schema.graphql` is its printed form. */
export const schema: GraphQLSchema = stopAtDeadline(builder.toSchema());
