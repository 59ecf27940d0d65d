import { limitsOf } from '../../limits/tiers.ts';
import { builder } from '../../schema/builder.ts';
import { TierEnum } from '../../schema/scalars.ts';
import type { UserService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    users: UserService;
  }
}

builder.prismaObject('User', {
  description: 'A person with an account, identified by the issuer and subject of their token.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Identifier, `usr_…`.' }),
    issuer: t.exposeString('issuer', { description: 'Issuer of the token.' }),
    subject: t.exposeString('subject', { description: 'Subject of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
  }),
});

const AccountLimits = builder.simpleObject('AccountLimits', {
  description: 'What the account’s tier includes, and how much of it is in use.',
  fields: (t) => ({
    requestsPerMinute: t.int({ nullable: true, description: 'Maximum requests per minute; null means unlimited.' }),
    maxConnectors: t.int({
      nullable: true,
      description: 'Maximum number of connectors across all projects; null means unlimited.',
    }),
    maxWebhooksPerProject: t.int({
      nullable: true,
      description: 'Maximum number of webhooks per project; null means unlimited.',
    }),
    connectorCount: t.int({ description: 'Number of connectors across all projects.' }),
  }),
});

export const Viewer = builder.simpleObject(
  'Viewer',
  {
    description: 'Who you are signed in as.',
    fields: (t) => ({
      tier: t.field({ type: TierEnum, description: 'The account’s tier.' }),
      projectId: t.id({ nullable: true, description: 'The project that the API key is scoped to; null for users.' }),
      expiresAt: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'When the credential expires; null for API keys.',
      }),
    }),
  },
  (t) => ({
    user: t.prismaField({
      type: 'User',
      description: 'The account: the signed-in user, or the owner of the key’s project.',
      resolve: (_query, _root, _args, { services, viewer }) => services.users.current(viewer),
    }),
    limits: t.field({
      type: AccountLimits,
      description: 'The account’s limits.',
      resolve: async (_root, _args, { services, viewer }) => ({
        ...limitsOf(viewer.tier, viewer.requestsPerMinute),
        connectorCount: await services.users.countConnectors(viewer),
      }),
    }),
  }),
);

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    nullable: true,
    description: 'Who you are signed in as, and your limits.',
    resolve: (_root, _args, { viewer }) => ({
      tier: viewer.tier,
      projectId: viewer.kind === 'apiKey' ? viewer.projectId : null,
      expiresAt: viewer.expiresAt,
    }),
  }),
);
