import { inVisibleProject } from '../../auth/access.ts';
import { ReplayStatus } from '../../generated/prisma/enums.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { DeliveryStatusEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import type { ReplayService } from './service.ts';
import { pace, replayFilterInput } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    replays: ReplayService;
  }
}

const ReplayStatusEnum = builder.enumType('ReplayStatus', {
  description: 'The status of a replay.',
  values: {
    RUNNING: { value: ReplayStatus.RUNNING, description: 'Deliveries are being queued.' },
    COMPLETED: { value: ReplayStatus.COMPLETED, description: 'All deliveries were queued or skipped.' },
    CANCELED: {
      value: ReplayStatus.CANCELED,
      description: 'The replay was canceled. Deliveries that were already queued are still sent.',
    },
  },
});

const Replay = builder.prismaNode('Replay', {
  description: 'Resends all deliveries that match a filter.',
  id: { field: 'id', description: 'Identifier, `rpl_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the replay belongs to.' }),
    status: t.expose('status', { type: ReplayStatusEnum, description: 'Status of the replay.' }),
    filter: t.expose('filter', { type: 'JSON', description: 'The filter, as you set it.' }),
    maxPerSecond: t.exposeInt('maxPerSecond', { description: 'Maximum number of deliveries queued per second.' }),
    total: t.exposeInt('total', { description: 'Number of matching deliveries when the replay started.' }),
    done: t.exposeInt('done', { description: 'Number of deliveries queued so far.' }),
    skipped: t.exposeInt('skipped', {
      description: 'Number of deliveries skipped because they were being sent or had changed since the replay started.',
    }),
    startedBy: t.exposeID('startedBy', {
      description: 'The user (`usr_…`) or API key (`key_…`) that started the replay, or `operator`.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the replay started.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the replay last changed.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When the replay ended.' }),
  }),
});

const ReplayConnection = builder.connectionObject(
  { name: 'ReplayConnection', type: Replay, description: 'A page of replays, newest first.' },
  { name: 'ReplayEdge', description: 'A replay and its cursor.' },
);

const ReplayFilter = builder.inputType('ReplayFilter', {
  description: 'Which deliveries to resend. All conditions must match.',
  extensions: checkedBy(replayFilterInput),
  fields: (t) => ({
    status: t.field({
      type: [DeliveryStatusEnum],
      description: 'Only deliveries with one of these statuses. `RUNNING` is not allowed.',
    }),
    eventTypes: t.field({ type: [EventTypeEnum], description: 'Only deliveries of these event types.' }),
    from: t.field({ type: 'DateTime', description: 'Only deliveries created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only deliveries created before this time.' }),
    webhookId: t.id({ description: 'Only deliveries to this webhook.' }),
    connectorId: t.id({ description: 'Only deliveries to this connector.' }),
    test: t.boolean({ description: 'Only test events (`true`) or only real events (`false`).' }),
    deliveryIds: t.idList({
      description: 'Only these deliveries, 1 to 100. IDs of deliveries that no longer exist match nothing.',
    }),
  }),
});

const ReplayListFilter = builder.inputType('ReplayListFilter', {
  description: 'Filters replays. All conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [ReplayStatusEnum], description: 'Only replays with one of these statuses.' }),
    from: t.field({ type: 'DateTime', description: 'Only replays started at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only replays started before this time.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  replay: t.prismaField({
    type: Replay,
    nullable: true,
    description: 'A replay in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `rpl_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.replays.find(viewer, id, project.id, query),
  }),
  replays: t.connection(
    {
      type: Replay,
      description: 'The project’s replays.',
      args: { filter: t.arg({ type: ReplayListFilter, description: 'Filters the replays.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage('Replay', args, { context, info }, (query) =>
          context.services.replays.list(context.viewer, project.id, filter ?? {}, query),
        ),
    },
    ReplayConnection,
  ),
}));

builder.relayMutationField(
  'createReplay',
  {
    description: 'Which deliveries to resend, and how fast.',
    extensions: checkedBy(pace),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      filter: t.field({
        type: ReplayFilter,
        description: 'Which deliveries to resend. Required, with at least one condition, unless `all` is true.',
      }),
      all: t.boolean({ description: 'Whether to resend all deliveries. Must not be set together with `filter`.' }),
      dryRun: t.boolean({ description: 'Whether to count the deliveries without resending them.' }),
      maxPerSecond: t.int({ description: 'Deliveries to queue per second, 1 to 1,000. Default: 50.' }),
    }),
  },
  {
    description: 'Resends many deliveries, each with the same event and `webhook-id` as before.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.replays.create(viewer, projectId, input),
  },
  {
    description: 'The result of `createReplay`.',
    outputFields: (t) => ({
      total: t.int({ description: 'Number of deliveries that match the filter.', resolve: ({ total }) => total }),
      replay: t.field({
        type: Replay,
        nullable: true,
        description: 'The replay; null for a dry run.',
        resolve: ({ replay }) => replay,
      }),
    }),
  },
);

builder.relayMutationField(
  'cancelReplay',
  {
    description: 'The replay to cancel.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The replay.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Cancels a replay. Deliveries that are already queued are still sent.',
    resolve: (_root, { input }, { services, viewer }) => services.replays.cancel(viewer, input.id, input.projectId),
  },
  {
    description: 'The result of `cancelReplay`.',
    outputFields: (t) => ({
      replay: t.field({ type: Replay, description: 'The canceled replay.', resolve: (replay) => replay }),
    }),
  },
);

const ReplayUpdated = builder.simpleObject('ReplayUpdated', {
  description: 'A replay that changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass this cursor as `after` to continue from here.' }),
    replay: t.field({ type: Replay, description: 'The replay at the time it was read.' }),
  }),
});

builder.subscriptionField('replayUpdated', (t) =>
  t.field({
    type: ReplayUpdated,
    nullable: true,
    description:
      'A project’s replays as they progress. If you pass `after`, you first get the changes since that cursor.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'The cursor of the last change you received.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.replays(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
