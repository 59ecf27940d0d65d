import { isOperator } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { TierEnum } from '../../schema/scalars.ts';
import { Viewer } from '../users/schema.ts';
import { userChanges } from './input.ts';
import { blockInput, MAX_COUNTED_DELIVERIES, type OperatorService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    operator: OperatorService;
  }
}

const TierSetterEnum = builder.enumType('TierSetter', {
  description: 'Who sets a user’s tier and rate limit.',
  values: {
    ISSUER: {
      value: 'ISSUER',
      description: 'The claims of the user’s tokens, if the issuer is trusted to set tiers and rate limits.',
    },
    OPERATOR: { value: 'OPERATOR', description: 'An operator. Token claims don’t change the tier or the rate limit.' },
  } as const,
});

const UserTotals = builder.simpleObject('UserTotals', {
  description: 'How many resources an account has.',
  fields: (t) => ({
    projectCount: t.int({ description: 'Number of projects.' }),
    connectorCount: t.int({ description: 'Number of connectors in all projects.' }),
    waitingDeliveryCount: t.int({
      description: `Number of unfinished deliveries in all projects. The count stops at ${MAX_COUNTED_DELIVERIES.toLocaleString('en')}.`,
    }),
  }),
});

const OperatorUser = builder.prismaObject('User', {
  variant: 'OperatorUser',
  description: 'A user’s account, as operators see it.',
  fields: (t) => ({
    // Not called `id`, because the `User` has the same one, and caches would merge the two.
    userId: t.exposeID('id', { description: 'Identifier, `usr_…`.' }),
    issuer: t.exposeString('issuer', { description: 'Issuer of the user’s tokens.' }),
    subject: t.exposeString('subject', { description: 'Subject of the user’s tokens.' }),
    tier: t.expose('tier', { type: TierEnum, description: 'The account’s tier.' }),
    requestsPerMinute: t.exposeInt('requestsPerMinute', {
      nullable: true,
      description: 'An enterprise account’s rate limit; null means unlimited. Other tiers have their own limits.',
    }),
    tierSetBy: t.expose('tierSetBy', { type: TierSetterEnum, description: 'Who sets the tier and the rate limit.' }),
    isOperator: t.boolean({
      description: 'Whether the user is an operator. Operators can’t be blocked.',
      resolve: (user, _args, { services }) => services.operator.isOperator(user),
    }),
    blockedAt: t.expose('blockedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the account was blocked; null if it isn’t blocked.',
    }),
    blockedReason: t.exposeString('blockedReason', {
      nullable: true,
      description: 'The reason for the block, as shown to the user.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
    usage: t.field({
      type: UserTotals,
      description: 'How many resources the account has.',
      resolve: ({ id }, _args, { services, viewer }) => services.operator.usage(viewer, id),
    }),
  }),
});

const OperatorUserConnection = builder.connectionObject(
  { name: 'OperatorUserConnection', type: OperatorUser, description: 'A page of users, newest first.' },
  { name: 'OperatorUserEdge', description: 'A user and their cursor.' },
);

const OperatorUserFilterInput = builder.inputType('OperatorUserFilter', {
  description: 'Filters users. All conditions must match.',
  fields: (t) => ({
    issuer: t.string({ description: 'Only users of this issuer.' }),
    subject: t.string({ description: 'Only users with this subject, exactly as in their tokens.' }),
    tiers: t.field({ type: [TierEnum], description: 'Only users on these tiers.' }),
    isBlocked: t.boolean({ description: 'Only users who are blocked (`true`) or aren’t blocked (`false`).' }),
    from: t.field({ type: 'DateTime', description: 'Only users created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only users created before this time.' }),
  }),
});

builder.queryFields((t) => ({
  operatorUser: t.field({
    type: OperatorUser,
    nullable: true,
    description: 'A user’s account. For operators only: null for everyone else.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `usr_…`.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.operator.find(viewer, id),
  }),
  operatorUsers: t.connection(
    {
      type: OperatorUser,
      nullable: true,
      description: 'All users. For operators only: null for everyone else.',
      args: { filter: t.arg({ type: OperatorUserFilterInput, description: 'Filters the users.' }) },
      resolve: (_root, { filter, ...page }, context, info) =>
        isOperator(context.viewer)
          ? resolvePage('User', page, { context, info }, (query) =>
              context.services.operator.list(context.viewer, filter ?? {}, query),
            )
          : null,
    },
    OperatorUserConnection,
  ),
}));

builder.objectField(Viewer, 'isOperator', (t) =>
  t.boolean({
    description: 'Whether you can use operator-only features.',
    resolve: (_root, _args, { viewer }) => isOperator(viewer),
  }),
);

builder.relayMutationField(
  'updateUser',
  {
    description: 'The new values. Omitted fields stay unchanged.',
    extensions: checkedBy(userChanges),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The user to change.' }),
      tier: t.field({ type: TierEnum, description: 'The new tier.' }),
      requestsPerMinute: t.int({
        description: 'The new rate limit of an enterprise account, 1 to 1,000,000; null means unlimited.',
      }),
      tierSetBy: t.field({
        type: TierSetterEnum,
        description:
          'Who sets the tier. Set to `ISSUER` to let token claims change the tier again. Default: `OPERATOR`.',
      }),
    }),
  },
  {
    description: 'Sets a user’s tier and rate limit. For operators only.',
    resolve: async (_root, { input: { id, ...input } }, { services, viewer }) => ({
      user: await services.operator.update(viewer, id, input),
    }),
  },
  {
    description: 'The result of `updateUser`.',
    outputFields: (t) => ({
      user: t.field({ type: OperatorUser, description: 'The updated user.', resolve: ({ user }) => user }),
    }),
  },
);

builder.relayMutationField(
  'blockUser',
  {
    description: 'The user to block, and why.',
    extensions: checkedBy(blockInput),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The user to block.' }),
      reason: t.string({
        required: true,
        description:
          'The reason to show to the user, 1 to 500 characters. If the user is already blocked, this replaces the current reason.',
      }),
    }),
  },
  {
    description:
      'Blocks an account, effective immediately: its requests are rejected, and its endpoints stop serving buyers. For operators only.',
    resolve: async (_root, { input: { id, ...input } }, { services, viewer }) => ({
      user: await services.operator.block(viewer, id, input),
    }),
  },
  {
    description: 'The result of `blockUser`.',
    outputFields: (t) => ({
      user: t.field({ type: OperatorUser, description: 'The blocked user.', resolve: ({ user }) => user }),
    }),
  },
);

builder.relayMutationField(
  'unblockUser',
  {
    description: 'The user to unblock.',
    inputFields: (t) => ({ id: t.id({ required: true, description: 'The user to unblock.' }) }),
  },
  {
    description: 'Unblocks an account, which then works as before. For operators only.',
    resolve: async (_root, { input }, { services, viewer }) => ({
      user: await services.operator.unblock(viewer, input.id),
    }),
  },
  {
    description: 'The result of `unblockUser`.',
    outputFields: (t) => ({
      user: t.field({ type: OperatorUser, description: 'The unblocked user.', resolve: ({ user }) => user }),
    }),
  },
);
