import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { KeyEnvironmentEnum } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import type { ApiKeyService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    apiKeys: ApiKeyService;
  }
}

const ApiKey = builder.prismaNode('ApiKey', {
  description:
    'A credential for programs, scoped to one project. The key itself is shown only once, when you create it.',
  id: { field: 'id', description: 'Identifier, `key_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, revokedAt: null, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the key is scoped to.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    environment: t.expose('environment', { type: KeyEnvironmentEnum, description: 'Production or development.' }),
    prefix: t.string({
      description: 'The first characters of the key.',
      resolve: ({ environment }) => `tg_${environment.toLowerCase()}_`,
    }),
    last4: t.exposeString('last4', { description: 'The last four characters of the key.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the minute; null if never.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
});

const ApiKeyConnection = builder.connectionObject(
  { name: 'ApiKeyConnection', type: ApiKey, description: 'A page of API keys, newest first.' },
  { name: 'ApiKeyEdge', description: 'An API key and its cursor.' },
);

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
      resolve: (project, args, context, info) =>
        resolvePage('ApiKey', args, { context, info }, (query) =>
          context.services.apiKeys.list(context.viewer, project.id, query),
        ),
    },
    ApiKeyConnection,
  ),
}));

builder.relayMutationField(
  'createApiKey',
  {
    description: 'Properties of the new API key.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project that the key is scoped to.' }),
      name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
      environment: t.field({ type: KeyEnvironmentEnum, description: 'Default: this deployment’s environment.' }),
    }),
  },
  {
    description: 'Creates an API key. API keys can’t do this.',
    authScopes: { user: true },
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.apiKeys.create(viewer, projectId, input),
  },
  {
    description: 'The result of `createApiKey`.',
    outputFields: (t) => ({
      apiKey: t.field({ type: ApiKey, description: 'The new key.', resolve: ({ apiKey }) => apiKey }),
      key: t.exposeString('key', { description: 'The full key. It is shown only once and isn’t stored.' }),
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
    authScopes: { user: true },
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
