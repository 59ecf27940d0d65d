import { builder } from '../../../schema/builder.ts';
import { resolvePage } from '../../../schema/connections.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { Project } from '../../projects/schema.ts';
import { Viewer } from '../../users/schema.ts';
import { MemberRoleEnum, ProjectMember } from '../schema.ts';
import { type InvitationService, inviteInput, visibleInvitations } from './service.ts';

declare module '../../../schema/context.ts' {
  interface Services {
    invitations: InvitationService;
  }
}

const Invitation = builder.prismaNode('Invitation', {
  description: 'An open invitation to a project.',
  id: { field: 'id', description: 'Identifier, `inv_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id,
    status: 'PENDING' as const,
    ...visibleInvitations(viewer),
  }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project.' }),
    projectName: t.string({
      description: 'The project’s name.',
      select: { project: { select: { name: true } } },
      resolve: ({ project }) => project.name,
    }),
    email: t.exposeString('email', {
      description:
        'The invited email address, in lowercase. Only a person whose identity provider has verified this address can respond.',
    }),
    role: t.expose('role', { type: MemberRoleEnum, description: 'The role that the person gets by accepting.' }),
    invitedById: t.exposeID('invitedById', { description: 'The account that sent the invitation, `usr_…`.' }),
    invitedByName: t.exposeString('invitedByName', {
      description:
        'The sender’s verified email address. If there is no verified address, this is the `sub` claim of the sender’s token.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the invitation was sent.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the invitation expires: a week after it was sent.',
    }),
  }),
});

const InvitationConnection = builder.connectionObject(
  { name: 'InvitationConnection', type: Invitation, description: 'A page of invitations, newest first.' },
  { name: 'InvitationEdge', description: 'An invitation and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  invitation: t.prismaField({
    type: Invitation,
    nullable: true,
    description: 'An open invitation to the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `inv_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.invitations.find(viewer, id, project.id, query),
  }),
  invitations: t.connection(
    {
      type: Invitation,
      description: 'The project’s open invitations, including expired ones.',
      resolve: (project, args, context, info) =>
        resolvePage('Invitation', args, { context, info }, (query) =>
          context.services.invitations.list(context.viewer, project.id, query),
        ),
    },
    InvitationConnection,
  ),
}));

builder.objectFields(Viewer, (t) => ({
  email: t.string({
    nullable: true,
    description:
      'Your verified email address, which is matched against invitations. Null unless the identity provider is trusted to verify addresses.',
    resolve: (_viewer, _args, { viewer }) => (viewer.kind === 'user' && viewer.email) || null,
  }),
  invitations: t.connection(
    {
      type: Invitation,
      description: 'The invitations that you can respond to.',
      resolve: (_viewer, args, context, info) =>
        resolvePage('Invitation', args, { context, info }, (query) =>
          context.services.invitations.listForViewer(context.viewer, query),
        ),
    },
    InvitationConnection,
  ),
}));

builder.relayMutationField(
  'inviteMember',
  {
    description: 'The person to invite.',
    extensions: checkedBy(inviteInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      email: t.string({ required: true, description: 'The person’s email address.' }),
      role: t.field({
        type: MemberRoleEnum,
        required: true,
        description: 'The role that the person gets by accepting.',
      }),
    }),
  },
  {
    description:
      'Invites a person to a project by email address. They get an email if the operator of this service has set up email. ' +
      'Only owners and admins can do this.',
    resolve: async (_root, { input: { projectId, ...input } }, { services, viewer }) => ({
      invitation: await services.invitations.invite(viewer, projectId, input),
    }),
  },
  {
    description: 'The result of `inviteMember`.',
    outputFields: (t) => ({
      invitation: t.field({
        type: Invitation,
        description: 'The invitation.',
        resolve: ({ invitation }) => invitation,
      }),
    }),
  },
);

builder.relayMutationField(
  'revokeInvitation',
  {
    description: 'The invitation to revoke.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The invitation to revoke.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Revokes an open invitation, effective immediately. Only owners and admins can do this.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.invitations.revoke(viewer, input.id, input.projectId);
      return { invitationId: input.id };
    },
  },
  {
    description: 'The result of `revokeInvitation`.',
    outputFields: (t) => ({
      invitationId: t.exposeID('invitationId', { description: 'The identifier of the revoked invitation.' }),
    }),
  },
);

builder.relayMutationField(
  'acceptInvitation',
  {
    description: 'The invitation to accept.',
    inputFields: (t) => ({
      id: t.id({
        required: true,
        description: 'The invitation, which must be addressed to your verified email address.',
      }),
    }),
  },
  {
    description: 'Accepts an invitation. You can use the project starting with your next request.',
    resolve: async (_root, { input }, { services, viewer }) => ({
      member: await services.invitations.accept(viewer, input.id),
    }),
  },
  {
    description: 'The result of `acceptInvitation`.',
    outputFields: (t) => ({
      member: t.field({
        type: ProjectMember,
        description: 'Your membership in the project.',
        resolve: ({ member }) => member,
      }),
    }),
  },
);

builder.relayMutationField(
  'declineInvitation',
  {
    description: 'The invitation to decline.',
    inputFields: (t) => ({
      id: t.id({
        required: true,
        description: 'The invitation, which must be addressed to your verified email address.',
      }),
    }),
  },
  {
    description: 'Declines an invitation.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.invitations.decline(viewer, input.id);
      return { invitationId: input.id };
    },
  },
  {
    description: 'The result of `declineInvitation`.',
    outputFields: (t) => ({
      invitationId: t.exposeID('invitationId', { description: 'The identifier of the declined invitation.' }),
    }),
  },
);
