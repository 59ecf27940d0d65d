import { inVisibleProject } from '../../auth/access.ts';
import { MemberRole } from '../../generated/prisma/enums.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { loadedRow } from '../../schema/loaded-row.ts';
import { Project } from '../projects/schema.ts';
import { type MemberService, viewerRole } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    members: MemberService;
  }
}

const ADMIN = 'Can do everything except change the wallet, delete the project, or transfer it.';
const DEVELOPER = 'Can read and change endpoints, webhooks, connectors, and deliveries, including credentials.';
const VIEWER = 'Can read everything except secrets.';

export const MemberRoleEnum = builder.enumType('MemberRole', {
  description: 'What a member may do in a project.',
  values: {
    ADMIN: { value: MemberRole.ADMIN, description: ADMIN },
    DEVELOPER: { value: MemberRole.DEVELOPER, description: DEVELOPER },
    VIEWER: { value: MemberRole.VIEWER, description: VIEWER },
  },
});

const ProjectRoleEnum = builder.enumType('ProjectRole', {
  description: 'What a person may do in a project.',
  values: {
    OWNER: {
      value: 'OWNER',
      description: 'Can do everything. The limits of the owner’s account apply to the project.',
    },
    ADMIN: { value: 'ADMIN', description: ADMIN },
    DEVELOPER: { value: 'DEVELOPER', description: DEVELOPER },
    VIEWER: { value: 'VIEWER', description: VIEWER },
  } as const,
});

export const ProjectMember = builder.prismaNode('ProjectMember', {
  description: 'A person who shares a project with its owner.',
  id: { field: 'id', description: 'Identifier, `mem_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project.' }),
    userId: t.exposeID('userId', { description: 'The member’s account, `usr_…`.' }),
    name: t.exposeString('name', {
      description: 'The member’s name at the identity provider: the subject of their token.',
    }),
    email: t.exposeString('email', {
      nullable: true,
      description: 'The email address that was invited; null for a previous owner.',
    }),
    role: t.expose('role', { type: MemberRoleEnum, description: 'What the member may do.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the person became a member.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the role was last changed.' }),
  }),
});

const ProjectMemberConnection = builder.connectionObject(
  { name: 'ProjectMemberConnection', type: ProjectMember, description: 'A page of members, newest first.' },
  { name: 'ProjectMemberEdge', description: 'A member and their cursor.' },
);

builder.objectFields(Project, (t) => ({
  viewerRole: t.field({
    type: ProjectRoleEnum,
    nullable: true,
    description: 'Your role in the project; null for API keys.',
    resolve: (project, _args, { viewer }) => viewerRole(viewer, project),
  }),
  owner: t.prismaField({
    type: 'User',
    description: 'The account that owns the project. Its limits apply.',
    resolve: (query, project, _args, { services, viewer }) =>
      loadedRow(query, services.members.owner(viewer, project.id)),
  }),
  member: t.prismaField({
    type: ProjectMember,
    nullable: true,
    description: 'A member of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `mem_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.members.find(viewer, id, project.id, query),
  }),
  members: t.connection(
    {
      type: ProjectMember,
      description: 'The people who share the project with its owner.',
      resolve: (project, args, context, info) =>
        resolvePage('ProjectMember', args, { context, info }, (query) =>
          context.services.members.list(context.viewer, project.id, query),
        ),
    },
    ProjectMemberConnection,
  ),
}));

builder.relayMutationField(
  'updateMember',
  {
    description: 'The member, and their new role.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The member to change.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      role: t.field({ type: MemberRoleEnum, required: true, description: 'The new role.' }),
    }),
  },
  {
    description: 'Changes a member’s role, effective immediately. Only owners and admins can do this.',
    resolve: async (_root, { input: { id, projectId, ...input } }, { services, viewer }) => ({
      member: await services.members.update(viewer, id, input, projectId),
    }),
  },
  {
    description: 'The result of `updateMember`.',
    outputFields: (t) => ({
      member: t.field({ type: ProjectMember, description: 'The member.', resolve: ({ member }) => member }),
    }),
  },
);

builder.relayMutationField(
  'removeMember',
  {
    description: 'The member to remove.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The member to remove.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description:
      'Removes a member, effective immediately. API keys that the member created keep working until someone revokes them. ' +
      'Members can remove themselves. Only owners and admins can remove others.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.members.remove(viewer, input.id, input.projectId);
      return { memberId: input.id };
    },
  },
  {
    description: 'The result of `removeMember`.',
    outputFields: (t) => ({
      memberId: t.exposeID('memberId', { description: 'The identifier of the removed member.' }),
    }),
  },
);
