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

export const ApiKey = builder.prismaNode('ApiKey', {
  description: 'A credential for programs, scoped to one project. Its value is shown once, when it is created.',
  id: { field: 'id', description: 'Identifier, `key_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, revokedAt: null, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it is scoped to.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    environment: t.expose('environment', { type: KeyEnvironmentEnum, description: 'Production or development.' }),
    prefix: t.string({
      description: 'How the key begins.',
      resolve: ({ environment }) => `tg_${environment.toLowerCase()}_`,
    }),
    last4: t.exposeString('last4', { description: 'How the key ends.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'Last use, to the minute.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
});

export const ApiKeyConnection = builder.connectionObject(
  { name: 'ApiKeyConnection', type: ApiKey, description: 'A page of API keys, newest first.' },
  { name: 'ApiKeyEdge', description: 'An API key and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  apiKey: t.prismaField({
    type: ApiKey,
    nullable: true,
    description: 'One usable API key of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `key_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.apiKeys.find(viewer, id, project.id, query),
  }),
  apiKeys: t.connection(
    {
      type: ApiKey,
      description: 'Usable API keys of the project; revoked ones are left out.',
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
    description: 'A new API key.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project it is scoped to.' }),
      name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
      environment: t.field({ type: KeyEnvironmentEnum, description: 'Default: by the deployment.' }),
    }),
  },
  {
    description: 'Creates an API key. For users, not API keys.',
    authScopes: { user: true },
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.apiKeys.create(viewer, projectId, input),
  },
  {
    description: 'What `createApiKey` made.',
    outputFields: (t) => ({
      apiKey: t.field({ type: ApiKey, description: 'The new key.', resolve: ({ apiKey }) => apiKey }),
      key: t.exposeString('key', { description: 'The full key. It is shown here once and kept nowhere.' }),
    }),
  },
);

builder.relayMutationField(
  'revokeApiKey',
  {
    description: 'The API key to revoke.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The key to revoke.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
    }),
  },
  {
    description: 'Revokes an API key, permanently and immediately. For users, not API keys.',
    authScopes: { user: true },
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.apiKeys.revoke(viewer, input.id, input.projectId);
      return { apiKeyId: input.id };
    },
  },
  {
    description: 'What `revokeApiKey` revoked.',
    outputFields: (t) => ({ apiKeyId: t.exposeID('apiKeyId', { description: 'Identifier of what is gone.' }) }),
  },
);
