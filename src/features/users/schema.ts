import { visibleAccounts } from '../../auth/access.ts';
import type { Viewer as Caller } from '../../auth/viewer.ts';
import { idAlongside } from '../../ids.ts';
import { limitsOf, MB, STORED_RESPONSE_MEGABYTES_PER_DAY } from '../../limits/tiers.ts';
import { builder } from '../../schema/builder.ts';
import { loadedRow } from '../../schema/loaded-row.ts';
import { ApiKeyScopeEnum, TierEnum } from '../../schema/scalars.ts';
import type { UserService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    users: UserService;
  }
}

builder.prismaNode('User', {
  description: 'A person with an account, identified by the issuer and subject of their token.',
  id: { field: 'id', description: 'Identifier, `usr_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...visibleAccounts(viewer) }),
  fields: (t) => ({
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
    maxReplayedDeliveriesPerDay: t.int({
      description: 'How many deliveries replays can resend per day. In a shared project, the owner’s limit applies.',
    }),
    maxChangeDeliveriesPerDay: t.int({
      description:
        'How many deliveries changes to endpoints can write per day. A change with at most three deliveries doesn’t count.',
    }),
    maxStoredContentMegabytesPerDay: t.int({
      description:
        'How many megabytes of delivery requests and responses are stored per day for the account’s own projects. ' +
        'Above this, `Attempt.isContentOmitted` is true.',
    }),
    maxStoredResponseMegabytesPerDay: t.int({
      description: 'How many megabytes of responses over 4 KB are stored per day for `Idempotency-Key`.',
    }),
    maxStoredSchemaMegabytesPerDay: t.int({
      description: 'How many megabytes of `inputSchema` and `exampleResponse` values over 1 KB can be stored per day.',
    }),
    connectorCount: t.int({ description: 'Number of connectors across all projects.' }),
  }),
});

/** The fields of `Viewer` that describe the caller. */
function describe(viewer: Caller) {
  const key = viewer.kind === 'apiKey' ? viewer : null;
  return {
    id: idAlongside('Viewer', key?.apiKeyId ?? viewer.userId),
    tier: viewer.tier,
    apiKeyId: key?.apiKeyId ?? null,
    projectId: key?.projectId ?? null,
    scopes: key ? [...key.scopes] : null,
    expiresAt: viewer.expiresAt,
  };
}

export const Viewer = builder.node(builder.objectRef<ReturnType<typeof describe>>('Viewer'), {
  description: 'Who you are signed in as.',
  // A viewer shares its account's projects with other viewers, such as API keys, but caches must not mix them up.
  id: { resolve: ({ id }) => id, description: 'Identifier, `vwr_…`. Each user and each API key has its own.' },
  loadOne: (id, { viewer }) => {
    const own = describe(viewer);
    return own.id === id ? own : null;
  },
  fields: (t) => ({
    tier: t.expose('tier', { type: TierEnum, description: 'The account’s tier.' }),
    apiKeyId: t.exposeID('apiKeyId', { nullable: true, description: 'The API key, `key_…`; null for users.' }),
    projectId: t.exposeID('projectId', {
      nullable: true,
      description: 'The project that the API key is scoped to; null for users.',
    }),
    scopes: t.expose('scopes', {
      type: [ApiKeyScopeEnum],
      nullable: true,
      description: 'What the API key can do; null for users.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the credential expires; null for API keys that don’t expire.',
    }),
    user: t.prismaField({
      type: 'User',
      description: 'The account: the signed-in user, or the owner of the key’s project.',
      resolve: (query, _root, _args, { services, viewer }) => loadedRow(query, services.users.current(viewer)),
    }),
    limits: t.field({
      type: AccountLimits,
      description: 'The account’s limits.',
      resolve: async (_root, _args, { services, viewer }) => {
        const { tier, requestsPerMinute } = viewer;
        const { maxReplayedPerDay, maxContentBytesPerDay, maxSchemaBytesPerDay, maxChangeDeliveriesPerDay, ...limits } =
          limitsOf(tier, requestsPerMinute);
        return {
          ...limits,
          maxReplayedDeliveriesPerDay: maxReplayedPerDay,
          maxChangeDeliveriesPerDay,
          maxStoredContentMegabytesPerDay: maxContentBytesPerDay / MB,
          maxStoredResponseMegabytesPerDay: STORED_RESPONSE_MEGABYTES_PER_DAY,
          maxStoredSchemaMegabytesPerDay: maxSchemaBytesPerDay / MB,
          connectorCount: await services.users.countConnectors(viewer),
        };
      },
    }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    nullable: true,
    description: 'Who you are signed in as, and your limits.',
    resolve: (_root, _args, { viewer }) => describe(viewer),
  }),
);
