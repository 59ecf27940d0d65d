import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { ApiKeyScopeEnum, KeyEnvironmentEnum } from '../../schema/scalars.ts';
import { totalCountField } from '../../schema/total-count.ts';
import { Project } from '../projects/schema.ts';
import type { ApiKeyService } from './service.ts';
import { createInput } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    apiKeys: ApiKeyService;
  }
}

const ApiKey = builder.prismaNode('ApiKey', {
  description: 'A credential for programs, scoped to one project. The full key is shown only once, when you create it.',
  id: { field: 'id', description: 'Identifier, `key_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, revokedAt: null, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the key is scoped to.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    environment: t.expose('environment', {
      type: KeyEnvironmentEnum,
      description: 'The key’s environment. By default, the project’s mode.',
    }),
    prefix: t.string({
      description: 'The first characters of the key.',
      resolve: ({ environment }) => `tg_${environment.toLowerCase()}_`,
    }),
    last4: t.exposeString('last4', { description: 'The last four characters of the key.' }),
    scopes: t.expose('scopes', { type: [ApiKeyScopeEnum], description: 'What the key can do.' }),
    allowedAddresses: t.exposeStringList('allowedAddresses', {
      description: 'The IP addresses and CIDR blocks that the key can be used from. Empty if from any address.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key stops working; null if never. Expired keys stay in the list until you revoke them.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was last used, to the minute; null if never.',
    }),
    createdById: t.exposeID('createdById', {
      nullable: true,
      description:
        'The person who created the key, `usr_…`; null for older keys. The key belongs to the project and keeps working if this ' +
        'person leaves.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
  }),
});

const ApiKeyConnection = builder.connectionObject(
  { name: 'ApiKeyConnection', type: ApiKey, description: 'A page of API keys, newest first.', fields: totalCountField },
  { name: 'ApiKeyEdge', description: 'An API key and its cursor.' },
);

const ApiKeyFilter = builder.inputType('ApiKeyFilter', {
  description: 'Filters API keys. All conditions must match.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Only keys created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only keys created before this time.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  apiKey: t.prismaField({
    type: ApiKey,
    nullable: true,
    description: 'An API key in the project. Revoked keys can’t be read.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `key_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.apiKeys.find(viewer, id, project.id, query),
  }),
  apiKeys: t.connection(
    {
      type: ApiKey,
      description: 'The project’s API keys, excluding revoked ones.',
      args: { filter: t.arg({ type: ApiKeyFilter, description: 'Filters the keys.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage(
          'ApiKey',
          args,
          { context, info },
          (query) => context.services.apiKeys.list(context.viewer, project.id, filter ?? {}, query),
          () => context.services.apiKeys.count(context.viewer, project.id, filter ?? {}),
        ),
    },
    ApiKeyConnection,
  ),
}));

builder.relayMutationField(
  'createApiKey',
  {
    description: 'Properties of the new API key.',
    extensions: checkedBy(createInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project that the key is scoped to.' }),
      name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
      environment: t.field({ type: KeyEnvironmentEnum, description: 'Default: the project’s mode.' }),
      scopes: t.field({
        type: [ApiKeyScopeEnum],
        description: 'What the key can do: at least one scope. Default: `READ`, `DELIVERIES`, and `WRITE`.',
      }),
      allowedAddresses: t.stringList({
        description:
          'The IP addresses and CIDR blocks that the key can be used from, 1 to 20, such as `203.0.113.0/24`. Default: any ' +
          'address.',
      }),
      expiresAt: t.field({
        type: 'DateTime',
        description: 'When the key stops working. Must be in the future. Default: never.',
      }),
    }),
  },
  {
    description: 'Creates an API key. API keys can’t do this.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.apiKeys.create(viewer, projectId, input),
  },
  {
    description: 'The result of `createApiKey`.',
    outputFields: (t) => ({
      apiKey: t.field({ type: ApiKey, description: 'The new key.', resolve: ({ apiKey }) => apiKey }),
      key: t.exposeString('key', {
        description: 'The full key. Shown only once, because the service doesn’t store it.',
      }),
    }),
  },
);

builder.relayMutationField(
  'revokeApiKey',
  {
    description: 'The API key to revoke.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The key to revoke.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Permanently revokes an API key, effective immediately. API keys can’t do this.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.apiKeys.revoke(viewer, input.id, input.projectId);
      return { apiKeyId: input.id };
    },
  },
  {
    description: 'The result of `revokeApiKey`.',
    outputFields: (t) => ({
      apiKeyId: t.exposeID('apiKeyId', { description: 'The identifier of the revoked key.' }),
    }),
  },
);
