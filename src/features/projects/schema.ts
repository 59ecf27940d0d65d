import { visibleProjects } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { milestonesUsdOf } from './milestones.ts';
import type { ProjectService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    projects: ProjectService;
  }
}

export const Project = builder.prismaNode('Project', {
  description: 'The top-level container of endpoints, keys, webhooks and connectors. Its wallet receives the payments.',
  id: { field: 'id', description: 'Identifier, `proj_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, AND: [visibleProjects(viewer)] }),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Display name.' }),
    walletAddress: t.exposeString('walletAddress', {
      description: 'EVM wallet that receives payments, EIP-55 checksummed.',
    }),
    gatewayHost: t.exposeString('gatewayHost', {
      nullable: true,
      description: 'Host name that leads to the endpoints without `/gateway/{projectId}` before their paths.',
    }),
    milestonesUsd: t.stringList({
      description: 'Spending in USD at which a customer reaches a milestone, ascending.',
      resolve: milestonesUsdOf,
    }),
    upstreamSecret: t.string({
      nullable: true,
      description:
        'Secret with which upstreams check that a request came through the gateway, `whsec_…`; null for API keys.',
      resolve: (project, _args, { services, viewer }) => services.projects.upstreamSecret(viewer, project),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const ProjectConnection = builder.connectionObject(
  { name: 'ProjectConnection', type: Project, description: 'A page of projects, newest first.' },
  { name: 'ProjectEdge', description: 'A project and its cursor.' },
);

builder.queryFields((t) => ({
  project: t.prismaField({
    type: Project,
    nullable: true,
    description: 'One project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `proj_…`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) => services.projects.find(viewer, id, query),
  }),
  projects: t.connection(
    {
      type: Project,
      nullable: true,
      description: 'Projects of the user; the one project of an API key.',
      resolve: (_root, args, context, info) =>
        resolvePage('Project', args, { context, info }, (query) =>
          context.services.projects.list(context.viewer, query),
        ),
    },
    ProjectConnection,
  ),
}));

builder.relayMutationField(
  'createProject',
  {
    description: 'A new project.',
    inputFields: (t) => ({
      name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
      walletAddress: t.string({ required: true, description: 'EVM wallet that receives payments.' }),
      gatewayHost: t.string({
        description: 'Host name that leads to the endpoints, such as "api.example.com".',
      }),
      milestonesUsd: t.stringList({
        description:
          'Spending in USD at which a customer reaches a milestone, at most 50. Default: 1, 10, 100, 1000 and 10000.',
      }),
    }),
  },
  {
    description: 'Creates a project. For users, not API keys.',
    authScopes: { user: true },
    resolve: (_root, { input }, { services, viewer }) => services.projects.create(viewer, input),
  },
  {
    description: 'What `createProject` made.',
    outputFields: (t) => ({
      project: t.field({ type: Project, description: 'The new project.', resolve: (project) => project }),
    }),
  },
);

builder.relayMutationField(
  'updateProject',
  {
    description: 'Changes to a project. Fields left out stay as they are.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The project to change.' }),
      name: t.string({ description: 'Display name, 1 to 200 characters.' }),
      walletAddress: t.string({
        description: 'EVM wallet that receives payments. For users, not API keys, to change.',
      }),
      gatewayHost: t.string({
        description:
          'Host name that leads to the endpoints, such as "api.example.com"; null for none. The old one stays reserved for the ' +
          'account for 30 days. For users, not API keys, to change.',
      }),
      milestonesUsd: t.stringList({
        description: 'Spending in USD at which a customer reaches a milestone, at most 50. An empty list for none.',
      }),
    }),
  },
  {
    description: 'Changes a project.',
    resolve: (_root, { input: { id, ...changes } }, { services, viewer }) =>
      services.projects.update(viewer, id, changes),
  },
  {
    description: 'What `updateProject` changed.',
    outputFields: (t) => ({
      project: t.field({ type: Project, description: 'The project as it is now.', resolve: (project) => project }),
    }),
  },
);

builder.relayMutationField(
  'deleteProject',
  {
    description: 'The project to delete.',
    inputFields: (t) => ({ id: t.id({ required: true, description: 'The project to delete.' }) }),
  },
  {
    description: 'Deletes a project with everything in it. For users, not API keys.',
    authScopes: { user: true },
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.projects.delete(viewer, input.id);
      return { projectId: input.id };
    },
  },
  {
    description: 'What `deleteProject` deleted.',
    outputFields: (t) => ({ projectId: t.exposeID('projectId', { description: 'Identifier of what is gone.' }) }),
  },
);
