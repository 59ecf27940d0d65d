import { visibleProjects } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { LONG_TEXT } from '../../schema/cost.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { loadedRow } from '../../schema/loaded-row.ts';
import { ProjectModeEnum } from '../../schema/scalars.ts';
import { COUNT_COST, COUNT_NULL, totalCountField } from '../../schema/total-count.ts';
import { ProjectUpstreamHeader, ProjectUpstreamHeaderInput } from '../headers/schema.ts';
import { shownUrl } from '../urls/stored-url.ts';
import { Viewer } from '../users/schema.ts';
import { shownHost } from './hosts/claims.ts';
import { PROJECT_RULES } from './input.ts';
import { milestonesUsdOf } from './milestones.ts';
import type { ProjectService } from './service.ts';
import { shownProjectHeaders } from './upstream-headers.ts';

declare module '../../schema/context.ts' {
  interface Services {
    projects: ProjectService;
  }
}

const PROJECT_COLUMNS = {
  id: true,
  userId: true,
  name: true,
  walletAddress: true,
  mode: true,
  networks: true,
  slug: true,
  timeZone: true,
  gatewayHost: true,
  claimedHost: true,
  upstreamSecretVersion: true,
  previousUpstreamSecretExpiresAt: true,
  createdAt: true,
  updatedAt: true,
} as const;

export const Project = builder.prismaNode('Project', {
  description: 'A container for endpoints, API keys, webhooks, and connectors. Its wallet receives the payments.',
  id: { field: 'id', description: 'Identifier, `proj_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...visibleProjects(viewer) }),
  // The other columns can be large, so they are read only for documents that select them.
  select: PROJECT_COLUMNS,
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Display name.' }),
    walletAddress: t.exposeString('walletAddress', {
      description: 'EVM wallet that receives payments, EIP-55 checksummed.',
    }),
    gatewayHost: t.string({
      nullable: true,
      description:
        'Custom domain for the endpoints. Paths on this domain don’t start with `/gateway/{projectId}`. It works once ' +
        '`gatewayHostStatus` is `ACTIVE`.',
      resolve: shownHost,
    }),
    slug: t.exposeString('slug', {
      nullable: true,
      description:
        'The project’s name in `defaultHost`. Null if the operator of this service hasn’t set up default domains.',
    }),
    milestonesUsd: t.stringList({
      description: 'Milestones for a customer’s total spend, in USD, in ascending order.',
      select: { milestonesAtomic: true },
      resolve: milestonesUsdOf,
    }),
    timeZone: t.exposeString('timeZone', {
      description:
        'The time zone of the days of daily summaries, revenue, and bookings, such as `Europe/Vienna`. Default: `UTC`.',
    }),
    upstreamHeaders: t.field({
      type: [ProjectUpstreamHeader],
      description:
        'Headers that the gateway adds to requests to the project’s upstreams. An endpoint’s own header with the same name takes precedence.',
      select: { upstreamHeaders: true },
      resolve: (project, _args, { viewer }) =>
        shownProjectHeaders(project).map((header) => ({
          ...header,
          urlPrefix: shownUrl(viewer, project.id, header.urlPrefix),
        })),
    }),
    description: t.exposeString('description', {
      ...LONG_TEXT,
      nullable: true,
      description: 'What the project offers. Shown to buyers.',
    }),
    iconUrl: t.exposeString('iconUrl', {
      ...LONG_TEXT,
      nullable: true,
      description: 'URL of an icon. Shown to buyers.',
    }),
    contact: t.exposeString('contact', {
      nullable: true,
      description: 'Email address or URL for buyers who need help. Shown to buyers.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the project was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the project was last changed.' }),
  }),
});

const ProjectConnection = builder.connectionObject(
  {
    name: 'ProjectConnection',
    type: Project,
    description: 'A page of projects, newest first.',
    fields: totalCountField,
  },
  { name: 'ProjectEdge', description: 'A project and its cursor.' },
);

const ProjectFilter = builder.inputType('ProjectFilter', {
  description: 'Filters projects. All conditions must match.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Only projects created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only projects created before this time.' }),
  }),
});

/** The description of the input `networks`. */
export const NETWORKS_INPUT =
  'The networks that buyers can pay on, as CAIP-2 IDs, in order of preference. An empty list means all of this server’s networks in the project’s mode.';

const TIME_ZONE_INPUT =
  'The time zone of the days of daily summaries, revenue, and bookings: a name in the IANA database, such as `Europe/Vienna`.';

builder.queryFields((t) => ({
  project: t.prismaField({
    type: Project,
    nullable: true,
    description: 'A project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `proj_…`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) => loadedRow(query, services.projects.find(viewer, id)),
  }),
  projects: t.connection(
    {
      type: Project,
      nullable: true,
      description: 'Your projects. An API key sees only its own project.',
      args: { filter: t.arg({ type: ProjectFilter, description: 'Filters the projects.' }) },
      resolve: (_root, { filter, ...args }, context, info) =>
        resolvePage(
          'Project',
          args,
          { context, info },
          (query) => context.services.projects.list(context.viewer, filter ?? {}, query),
          () => context.services.projects.count(context.viewer, filter ?? {}),
        ),
    },
    ProjectConnection,
  ),
}));

builder.objectField(Viewer, 'projectCount', (t) =>
  t.int({
    nullable: true,
    complexity: { field: COUNT_COST, multiplier: 1 },
    description: `The number of projects that you can see. ${COUNT_NULL}`,
    resolve: (_viewer, _args, { services, viewer }) => services.projects.count(viewer),
  }),
);

builder.relayMutationField(
  'createProject',
  {
    description: 'Properties of the new project.',
    extensions: checkedBy(PROJECT_RULES.createInput),
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
      mode: t.field({
        type: ProjectModeEnum,
        description:
          'Whether the project accepts real money. You can’t change this later. Default: `LIVE`, or `TEST` on a server with only test networks.',
      }),
      networks: t.stringList({ description: NETWORKS_INPUT }),
      timeZone: t.string({ description: `${TIME_ZONE_INPUT} Default: \`UTC\`.` }),
      upstreamHeaders: t.field({
        type: [ProjectUpstreamHeaderInput],
        description:
          'Headers for the gateway to add to requests to the project’s upstreams. Up to 20 headers, totaling up to 8,192 bytes.',
      }),
      description: t.string({ description: 'What the project offers, up to 1,000 characters. Shown to buyers.' }),
      iconUrl: t.string({ description: 'HTTPS URL of an icon. Shown to buyers.' }),
      contact: t.string({ description: 'Email address or HTTPS URL for buyers who need help. Shown to buyers.' }),
    }),
  },
  {
    description: 'Creates a project. API keys can’t do this.',
    resolve: (_root, { input }, { services, viewer }) => services.projects.create(viewer, input),
  },
  {
    description: 'The result of `createProject`.',
    outputFields: (t) => ({
      project: t.prismaField({
        type: Project,
        description: 'The new project.',
        resolve: (query, project) => loadedRow(query, project),
      }),
    }),
  },
);

builder.relayMutationField(
  'updateProject',
  {
    description: 'Changes to a project. Omitted fields stay unchanged.',
    extensions: checkedBy(PROJECT_RULES.updateInput),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The project to update.' }),
      name: t.string({ description: 'Display name, 1 to 200 characters.' }),
      walletAddress: t.string({
        description: 'EVM wallet that receives payments. API keys can’t change this.',
      }),
      gatewayHost: t.string({
        description:
          'Custom domain for the endpoints, for example, "api.example.com". Set to null to remove it. The old domain stays reserved for ' +
          'your account for 30 days. A new domain replaces the old one once you verify that you own it; see ' +
          '`gatewayHostStatus`. API keys can’t change this.',
      }),
      slug: t.string({
        description:
          'The project’s name in `defaultHost`: 3 to 40 lowercase letters, digits, and single hyphens. The old name stays ' +
          'reserved for your account for 30 days. API keys can’t change this.',
      }),
      milestonesUsd: t.stringList({
        description: 'Milestones for a customer’s total spend, in USD (up to 50). An empty list means no milestones.',
      }),
      networks: t.stringList({ description: `${NETWORKS_INPUT} API keys can’t change this.` }),
      timeZone: t.string({
        description: `${TIME_ZONE_INPUT} The current day then ends at midnight in the new time zone.`,
      }),
      upstreamHeaders: t.field({
        type: [ProjectUpstreamHeaderInput],
        description:
          'Headers for the gateway to add to requests to the project’s upstreams. Replaces the list. Set to null or an empty list to remove all headers. API keys can’t change this.',
      }),
      description: t.string({
        description: 'What the project offers, up to 1,000 characters. Shown to buyers. Set to null to remove it.',
      }),
      iconUrl: t.string({ description: 'HTTPS URL of an icon. Shown to buyers. Set to null to remove it.' }),
      contact: t.string({
        description: 'Email address or HTTPS URL for buyers who need help. Shown to buyers. Set to null to remove it.',
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
      project: t.prismaField({
        type: Project,
        description: 'The updated project.',
        resolve: (query, project) => loadedRow(query, project),
      }),
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
