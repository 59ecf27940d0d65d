import { builder } from '../../../schema/builder.ts';
import { resolvePage } from '../../../schema/connections.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
import { Project } from '../../projects/schema.ts';
import { Viewer } from '../../users/schema.ts';
import { offerInput } from './recipient.ts';
import { type TransferService, visibleTransfers } from './service.ts';

declare module '../../../schema/context.ts' {
  interface Services {
    transfers: TransferService;
  }
}

const ProjectTransfer = builder.prismaNode('ProjectTransfer', {
  description: 'An open offer to transfer a project.',
  id: { field: 'id', description: 'Identifier, `trf_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({
    id,
    status: 'PENDING' as const,
    ...visibleTransfers(viewer),
  }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project.' }),
    projectName: t.string({
      description: 'The project’s name.',
      select: { project: { select: { name: true } } },
      resolve: ({ project }) => project.name,
    }),
    userId: t.exposeID('userId', {
      nullable: true,
      description:
        'The account of the member who can accept, `usr_…`. Null if the project is offered to an email address.',
    }),
    email: t.exposeString('email', {
      nullable: true,
      description: 'The email address of the person who can accept. Null for members without one.',
    }),
    name: t.exposeString('name', { description: 'The name of the member who can accept, or the email address.' }),
    offeredById: t.exposeID('offeredById', { description: 'The owner who offered the project, `usr_…`.' }),
    offeredByName: t.exposeString('offeredByName', {
      description:
        'The owner’s verified email address. If there is no verified address, this is the `sub` claim of the owner’s token.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the project was offered.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the offer expires: a week after it was made.',
    }),
  }),
});

const ProjectTransferConnection = builder.connectionObject(
  { name: 'ProjectTransferConnection', type: ProjectTransfer, description: 'A page of offers, newest first.' },
  { name: 'ProjectTransferEdge', description: 'An offer and its cursor.' },
);

builder.objectField(Project, 'transfer', (t) =>
  t.prismaField({
    type: ProjectTransfer,
    nullable: true,
    description: 'The open offer to transfer the project, or null if the project isn’t being offered.',
    resolve: (query, { id }, _args, { services, viewer }) => services.transfers.find(viewer, id, query),
  }),
);

builder.objectField(Viewer, 'transfers', (t) =>
  t.connection(
    {
      type: ProjectTransfer,
      description: 'The open offers to transfer projects to you.',
      resolve: (_viewer, args, context, info) =>
        resolvePage('ProjectTransfer', args, { context, info }, (query) =>
          context.services.transfers.listForViewer(context.viewer, query),
        ),
    },
    ProjectTransferConnection,
  ),
);

builder.relayMutationField(
  'transferProject',
  {
    description: 'The project, and its new owner: either `memberId` or `email`.',
    extensions: checkedBy(offerInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to transfer.' }),
      memberId: t.id({ description: 'The member who should become the owner.' }),
      email: t.string({
        description: 'The email address of the person who should become the owner, whether or not they are a member.',
      }),
    }),
  },
  {
    description:
      'Offers a project to a new owner, who has seven days to accept with `acceptTransfer`. Nothing changes until then. ' +
      'Only the owner can do this.',
    resolve: async (_root, { input: { projectId, ...input } }, { services, viewer }) => ({
      transfer: await services.transfers.offer(viewer, projectId, input),
    }),
  },
  {
    description: 'The result of `transferProject`.',
    outputFields: (t) => ({
      transfer: t.field({ type: ProjectTransfer, description: 'The offer.', resolve: ({ transfer }) => transfer }),
    }),
  },
);

builder.relayMutationField(
  'withdrawTransfer',
  {
    description: 'The project to withdraw the offer for.',
    inputFields: (t) => ({ projectId: t.id({ required: true, description: 'The project.' }) }),
  },
  {
    description: 'Withdraws the open offer to transfer a project, effective immediately. Only the owner can do this.',
    resolve: async (_root, { input: { projectId } }, { services, viewer }) => {
      await services.transfers.withdraw(viewer, projectId);
      return { projectId };
    },
  },
  {
    description: 'The result of `withdrawTransfer`.',
    outputFields: (t) => ({
      projectId: t.exposeID('projectId', { description: 'The identifier of the project.' }),
    }),
  },
);

const ANSWERED = 'The ID of the offer. The offer must be addressed to you or to your verified email address.';

builder.relayMutationField(
  'acceptTransfer',
  {
    description: 'The offer to accept.',
    inputFields: (t) => ({ id: t.id({ required: true, description: ANSWERED }) }),
  },
  {
    description:
      'Makes you the owner of a project that was offered to you. Your account’s limits apply from then on, and the previous ' +
      'owner becomes an admin. The wallet stays the same until you change it.',
    resolve: async (_root, { input }, { services, viewer }) => ({
      project: await services.transfers.accept(viewer, input.id),
    }),
  },
  {
    description: 'The result of `acceptTransfer`.',
    outputFields: (t) => ({
      project: t.prismaField({
        type: Project,
        description: 'The project.',
        resolve: (query, { project }) => loadedRow(query, project),
      }),
    }),
  },
);

builder.relayMutationField(
  'declineTransfer',
  {
    description: 'The offer to decline.',
    inputFields: (t) => ({ id: t.id({ required: true, description: ANSWERED }) }),
  },
  {
    description: 'Declines an offer to become the owner of a project.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.transfers.decline(viewer, input.id);
      return { transferId: input.id };
    },
  },
  {
    description: 'The result of `declineTransfer`.',
    outputFields: (t) => ({
      transferId: t.exposeID('transferId', { description: 'The identifier of the declined offer.' }),
    }),
  },
);
