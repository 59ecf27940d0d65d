import { inVisibleProject } from '../../auth/access.ts';
import { ReplayStatus } from '../../generated/prisma/enums.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { DeliveryStatusEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import type { ReplayService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    replays: ReplayService;
  }
}

const ReplayStatusEnum = builder.enumType('ReplayStatus', {
  description: 'Where a replay stands.',
  values: {
    RUNNING: { value: ReplayStatus.RUNNING, description: 'Deliveries are being queued again.' },
    COMPLETED: { value: ReplayStatus.COMPLETED, description: 'All of them are queued or skipped.' },
    CANCELLED: { value: ReplayStatus.CANCELLED, description: 'Was stopped; what it had queued is sent.' },
  },
});

export const Replay = builder.prismaNode('Replay', {
  description: 'Many deliveries that are sent again, by a filter.',
  id: { field: 'id', description: 'Identifier, `rpl_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    status: t.expose('status', { type: ReplayStatusEnum, description: 'Where it stands.' }),
    filter: t.expose('filter', { type: 'JSON', description: 'Which deliveries it takes, as it was given.' }),
    maxPerSecond: t.exposeInt('maxPerSecond', { description: 'How many it queues in a second at most.' }),
    total: t.exposeInt('total', { description: 'Deliveries that it takes, counted when it began.' }),
    done: t.exposeInt('done', { description: 'Those queued again so far.' }),
    skipped: t.exposeInt('skipped', {
      description: 'Those passed over: being sent at that moment, or changed since it began.',
    }),
    startedBy: t.exposeID('startedBy', { description: 'The user, `usr_…`, or API key, `key_…`, that started it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it began.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
});

export const ReplayConnection = builder.connectionObject(
  { name: 'ReplayConnection', type: Replay, description: 'A page of replays, newest first.' },
  { name: 'ReplayEdge', description: 'A replay and its cursor.' },
);

const ReplayFilter = builder.inputType('ReplayFilter', {
  description: 'Which deliveries to send again: those that all of this holds for.',
  fields: (t) => ({
    status: t.field({ type: [DeliveryStatusEnum], description: 'In one of these states; not `RUNNING`.' }),
    eventTypes: t.field({ type: [EventTypeEnum], description: 'Of events of these kinds.' }),
    from: t.field({ type: 'DateTime', description: 'Created at or after.' }),
    to: t.field({ type: 'DateTime', description: 'Created before.' }),
    webhookId: t.id({ description: 'To this webhook.' }),
    connectorId: t.id({ description: 'To this connector.' }),
    test: t.boolean({ description: 'Only test events, or only real ones.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  replay: t.prismaField({
    type: Replay,
    nullable: true,
    description: 'One replay of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `rpl_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.replays.find(viewer, id, project.id, query),
  }),
  replays: t.connection(
    {
      type: Replay,
      description: 'Replays of the project.',
      resolve: (project, args, context, info) =>
        resolvePage('Replay', args, { context, info }, (query) =>
          context.services.replays.list(context.viewer, project.id, query),
        ),
    },
    ReplayConnection,
  ),
}));

builder.relayMutationField(
  'createReplay',
  {
    description: 'Which deliveries to send again, and how fast.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      filter: t.field({ type: ReplayFilter, description: 'Which ones. Default: all.' }),
      dryRun: t.boolean({ description: 'Count them and send nothing.' }),
      maxPerSecond: t.int({ description: 'How many to queue in a second, 1 to 1000. Default 50.' }),
    }),
  },
  {
    description: 'Sends many deliveries again: each the same event under the same `webhook-id`.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.replays.create(viewer, projectId, input),
  },
  {
    description: 'What `createReplay` counted and started.',
    outputFields: (t) => ({
      total: t.int({ description: 'How many deliveries the filter takes.', resolve: ({ total }) => total }),
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
    description: 'The replay to stop.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The replay.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
    }),
  },
  {
    description: 'Stops a replay. What it has queued already is sent.',
    resolve: (_root, { input }, { services, viewer }) => services.replays.cancel(viewer, input.id, input.projectId),
  },
  {
    description: 'What `cancelReplay` stopped.',
    outputFields: (t) => ({
      replay: t.field({ type: Replay, description: 'The replay, as it stands now.', resolve: (replay) => replay }),
    }),
  },
);

const ReplayUpdated = builder.simpleObject('ReplayUpdated', {
  description: 'A replay that changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass it as `after` to go on from here.' }),
    replay: t.field({ type: Replay, description: 'The replay as it was when it was read.' }),
  }),
});

builder.subscriptionField('replayUpdated', (t) =>
  t.field({
    type: ReplayUpdated,
    nullable: true,
    description: 'Replays of a project as they go on. With `after`, first what was missed since that cursor.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'Cursor of the last one seen.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.replays(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
