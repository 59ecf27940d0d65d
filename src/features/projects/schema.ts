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
  description: 'A container for endpoints, API keys, webhooks, and connectors. Its wallet receives the payments.',
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
      description: 'Custom domain for the endpoints. Paths on this domain don’t start with `/gateway/{projectId}`.',
    }),
    milestonesUsd: t.stringList({
      description: 'Milestones for a customer’s total spend, in USD, in ascending order.',
      resolve: milestonesUsdOf,
    }),
    upstreamSecret: t.string({
      nullable: true,
      description:
        'The secret that your API uses to verify that a request came through the gateway, `whsec_…`. Null if you use an API key.',
      resolve: (project, _args, { services, viewer }) => services.projects.upstreamSecret(viewer, project),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

const ProjectConnection = builder.connectionObject(
  { name: 'ProjectConnection', type: Project, description: 'A page of projects, newest first.' },
  { name: 'ProjectEdge', description: 'A project and its cursor.' },
);

builder.queryFields((t) => ({
  project: t.field({
    type: Project,
    nullable: true,
    description: 'A project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `proj_…`.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.projects.find(viewer, id),
  }),
  projects: t.connection(
    {
      type: Project,
      nullable: true,
      description: 'Your projects. With an API key, only the key’s project.',
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
    description: 'Properties of the new project.',
    inputFields: (t) => ({
      name: t.string({ required: true, description: 'Display name, 1 to 200 characters.' }),
      walletAddress: t.string({ required: true, description: 'EVM wallet that receives payments.' }),
      gatewayHost: t.string({
        description: 'Custom domain for the endpoints, for example, "api.example.com".',
      }),
      milestonesUsd: t.stringList({
        description:
          'Milestones for a customer’s total spend, in USD (up to 50). Default: 1, 10, 100, 1,000, and 10,000.',
      }),
    }),
  },
  {
    description: 'Creates a project. API keys can’t do this.',
    authScopes: { user: true },
    resolve: (_root, { input }, { services, viewer }) => services.projects.create(viewer, input),
  },
  {
    description: 'The result of `createProject`.',
    outputFields: (t) => ({
      project: t.field({ type: Project, description: 'The new project.', resolve: (project) => project }),
    }),
  },
);

builder.relayMutationField(
  'updateProject',
  {
    description: 'Changes to a project. Omitted fields stay unchanged.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The project to update.' }),
      name: t.string({ description: 'Display name, 1 to 200 characters.' }),
      walletAddress: t.string({
        description: 'EVM wallet that receives payments. API keys can’t change this.',
      }),
      gatewayHost: t.string({
        description:
          'Custom domain for the endpoints, for example, "api.example.com"; null removes it. The old domain stays reserved for ' +
          'your account for 30 days. API keys can’t change this.',
      }),
      milestonesUsd: t.stringList({
        description: 'Milestones for a customer’s total spend, in USD (up to 50). An empty list means no milestones.',
      }),
    }),
  },
  {
    description: 'Updates a project.',
    resolve: (_root, { input: { id, ...changes } }, { services, viewer }) =>
      services.projects.update(viewer, id, changes),
  },
  {
    description: 'The result of `updateProject`.',
    outputFields: (t) => ({
      project: t.field({ type: Project, description: 'The updated project.', resolve: (project) => project }),
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
    description: 'Deletes a project and everything in it. API keys can’t do this.',
    authScopes: { user: true },
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.projects.delete(viewer, input.id);
      return { projectId: input.id };
    },
  },
  {
    description: 'The result of `deleteProject`.',
    outputFields: (t) => ({
      projectId: t.exposeID('projectId', { description: 'The identifier of the deleted project.' }),
    }),
  },
);
