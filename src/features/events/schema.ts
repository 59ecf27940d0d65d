import { inVisibleProject } from '../../auth/access.ts';
import type { EventKind } from '../../events/kinds.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { EventTypeEnum } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import type { EventService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    events: EventService;
  }
}

const Event = builder.prismaNode('Event', {
  description: 'Something that happened in a project.',
  id: { field: 'id', description: 'Identifier, `evt_…`; also the `webhook-id` of its deliveries.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it happened in.' }),
    type: t.field({
      type: EventTypeEnum,
      description: 'What happened.',
      resolve: ({ type }) => type as EventKind,
    }),
    version: t.exposeInt('version', { description: 'The version of the payload.' }),
    test: t.exposeBoolean('test', { description: 'Whether it is a test event that someone sent manually.' }),
    timestamp: t.expose('timestamp', { type: 'DateTime', description: 'When it happened.' }),
    data: t.field({
      type: 'JSON',
      description: 'The payload. Its fields depend on the event type.',
      resolve: ({ data }) => data,
    }),
    filteredOut: t.exposeIDList('filteredOut', {
      description:
        'IDs of the webhooks and connectors that subscribe to this event type but whose filters exclude this event. ' +
        'They get no delivery.',
    }),
  }),
});

const EventConnection = builder.connectionObject(
  { name: 'EventConnection', type: Event, description: 'A page of events, newest first.' },
  { name: 'EventEdge', description: 'An event and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  event: t.prismaField({
    type: Event,
    nullable: true,
    description: 'An event in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `evt_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.events.find(viewer, id, project.id, query),
  }),
  events: t.connection(
    {
      type: Event,
      description: 'The project’s events.',
      args: { types: t.arg({ type: [EventTypeEnum], description: 'Only events of these types.' }) },
      resolve: (project, { types, ...args }, context, info) =>
        resolvePage('Event', args, { context, info }, (query) =>
          context.services.events.list(context.viewer, project.id, types ?? null, query),
        ),
    },
    EventConnection,
  ),
}));

const EventFilterResult = builder.simpleObject('EventFilterResult', {
  description: 'Whether an event matches a filter.',
  fields: (t) => ({
    eventType: t.field({ type: EventTypeEnum, description: 'The event type.' }),
    eventId: t.id({ nullable: true, description: 'The event, `evt_…`; null for a sample of its type.' }),
    matches: t.boolean({ description: 'Whether the event would be sent.' }),
  }),
});

builder.relayMutationField(
  'testEventFilter',
  {
    description: 'A filter and the event to test it with.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      filter: t.field({
        type: 'JSON',
        required: true,
        description: 'The filter, in the same format as for webhooks and connectors.',
      }),
      eventId: t.id({ description: 'An event in the project. Default: a sample of every event type.' }),
    }),
  },
  {
    description: 'Tests which events match a filter. Doesn’t change or send anything.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.events.testFilter(viewer, projectId, input),
  },
  {
    description: 'The result of `testEventFilter`.',
    outputFields: (t) => ({
      results: t.field({
        type: [EventFilterResult],
        description: 'One result for each event.',
        resolve: (results) => results,
      }),
    }),
  },
);

const EventRecorded = builder.simpleObject('EventRecorded', {
  description: 'An event that was recorded.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass this as `after` to continue from here.' }),
    event: t.field({ type: Event, description: 'The event.' }),
  }),
});

builder.subscriptionField('eventRecorded', (t) =>
  t.field({
    type: EventRecorded,
    nullable: true,
    description:
      'A project’s events as they are recorded. If you pass `after`, you first get the events since that cursor. ' +
      'After you reconnect, an event can arrive twice with the same ID.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'The cursor of the last event you received.' }),
      types: t.arg({ type: [EventTypeEnum], description: 'Only events of these types.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.events(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
