import { inVisibleProject } from '../../auth/access.ts';
import type { EventType } from '../../events/types.ts';
import type { Event as EventRow } from '../../generated/prisma/client.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { costOfField, STATISTIC_COST } from '../../schema/cost.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { loadedRow } from '../../schema/loaded-row.ts';
import { EventTypeEnum } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import { EventPayload } from './payload/schema.ts';
import type { EventService } from './service.ts';
import { testFilterInput } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    events: EventService;
  }
}

const Event = builder.prismaNode('Event', {
  description: 'Something that happened in a project.',
  id: { field: 'id', description: 'Identifier, `evt_…`; also the `webhook-id` of the event’s deliveries.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  // Only what a document selects is read, because the data can be large.
  select: { id: true },
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the event happened in.' }),
    type: t.field({
      type: EventTypeEnum,
      description: 'What happened.',
      select: { type: true },
      resolve: ({ type }) => type as EventType,
    }),
    version: t.exposeInt('version', { description: 'The version of the payload.' }),
    test: t.exposeBoolean('test', { description: 'Whether the event is a test event that someone sent manually.' }),
    timestamp: t.expose('timestamp', { type: 'DateTime', description: 'When the event happened.' }),
    data: t.expose('data', {
      type: 'JSON',
      description: 'The payload, as delivered. Its fields depend on the event type.',
    }),
    payload: t.field({
      type: EventPayload,
      nullable: true,
      description:
        'The typed payload, in the current payload version: each event type has its own GraphQL type. Null if the event was recorded ' +
        'by a development version that left out some of the fields.',
      select: { type: true, version: true, data: true },
      resolve: (event, _args, { services }) => services.events.payload(event),
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

const EventFilter = builder.inputType('EventFilter', {
  description: 'Filters events. All conditions must match.',
  fields: (t) => ({
    eventTypes: t.field({ type: [EventTypeEnum], description: 'Only events of these types.' }),
    resourceId: t.id({ description: 'Only events about this endpoint, payment, or customer.' }),
    from: t.field({ type: 'DateTime', description: 'Only events that happened at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only events that happened before this time.' }),
  }),
});

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
      complexity: (args, _pricing, field) => {
        const { field: points, multiplier } = costOfField({ ...args }, field);
        // Finding the events about a resource can read many others.
        return { field: args.filter?.resourceId ? points + STATISTIC_COST : points, multiplier };
      },
      args: {
        filter: t.arg({ type: EventFilter, description: 'Filters the events.' }),
        types: t.arg({ type: [EventTypeEnum], description: 'Former name of `filter.eventTypes`. Use that instead.' }),
      },
      resolve: (project, { filter, types, ...args }, context, info) =>
        resolvePage('Event', args, { context, info }, (query) =>
          context.services.events.list(context.viewer, project.id, { eventTypes: types, ...filter }, query),
        ),
    },
    EventConnection,
  ),
}));

const EventFilterResult = builder.simpleObject('EventFilterResult', {
  description: 'Whether an event matches a filter.',
  fields: (t) => ({
    eventType: t.field({ type: EventTypeEnum, description: 'The event type.' }),
    eventId: t.id({ nullable: true, description: 'The event, `evt_…`; null for a sample of the event type.' }),
    matches: t.boolean({ description: 'Whether the event would be sent.' }),
  }),
});

builder.relayMutationField(
  'testEventFilter',
  {
    description: 'A filter, and the events to test the filter with.',
    extensions: checkedBy(testFilterInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      filter: t.field({
        type: 'JSON',
        required: true,
        description: 'The filter, in the same format as for webhooks and connectors.',
      }),
      eventId: t.id({ description: 'An event in the project. Default: a sample of every event type.' }),
      latest: t.int({
        description:
          'How many of the project’s latest events to test the filter with, 1 to 50, instead of one event or the samples. ' +
          'Test events aren’t filtered, so they don’t count.',
      }),
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

builder.relayMutationField(
  'recordTestEvent',
  {
    description: 'The test event to record.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      eventType: t.field({ type: EventTypeEnum, required: true, description: 'Type of the test event.' }),
    }),
  },
  {
    description:
      'Records an event with a sample payload, marked `"test": true`, without sending it to webhooks or connectors. ' +
      'GraphQL subscriptions and `tollgate listen` receive the event.',
    resolve: (_root, { input: { projectId, eventType } }, { services, viewer }) =>
      services.events.recordTest(viewer, projectId, { eventType }),
  },
  {
    description: 'The result of `recordTestEvent`.',
    outputFields: (t) => ({
      event: t.prismaField({
        type: Event,
        description: 'The recorded event.',
        resolve: (query, event) => loadedRow(query, event),
      }),
    }),
  },
);

const EventRecorded = builder.objectRef<{ cursor: string; event: EventRow }>('EventRecorded').implement({
  description: 'An event that was recorded.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass this cursor as `after` to continue from here.' }),
    event: t.prismaField({
      type: Event,
      description: 'The event.',
      resolve: (query, { event }) => loadedRow(query, event),
    }),
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

/** A cursor takes two statements. */
const CURSOR = { complexity: { field: 5, multiplier: 1 } } as const;

const LiveCursors = builder.objectRef<{ projectId: string }>('LiveCursors').implement({
  description:
    'Cursors for the present moment, one for each subscription. Pass one as `after` to get everything that happens from now on.',
  fields: (t) => ({
    events: t.string({
      ...CURSOR,
      description: 'For `eventRecorded`.',
      resolve: ({ projectId }, _args, { services, viewer }) => services.feed.now.events(viewer, projectId),
    }),
    deliveries: t.string({
      ...CURSOR,
      description: 'For `deliveryUpdated`.',
      resolve: ({ projectId }, _args, { services, viewer }) => services.feed.now.deliveries(viewer, projectId),
    }),
    payments: t.string({
      ...CURSOR,
      description: 'For `paymentUpdated`.',
      resolve: ({ projectId }, _args, { services, viewer }) => services.feed.now.payments(viewer, projectId),
    }),
    replays: t.string({
      ...CURSOR,
      description: 'For `replayUpdated`.',
      resolve: ({ projectId }, _args, { services, viewer }) => services.feed.now.replays(viewer, projectId),
    }),
    notices: t.string({
      ...CURSOR,
      description: 'For `noticeUpdated`.',
      resolve: ({ projectId }, _args, { services, viewer }) => services.feed.now.notices(viewer, projectId),
    }),
  }),
});

builder.objectField(Project, 'liveCursors', (t) =>
  t.field({
    type: LiveCursors,
    description: 'Cursors for subscriptions to the project that start now.',
    resolve: ({ id }) => ({ projectId: id }),
  }),
);
