import type { GraphQLResolveInfo } from 'graphql';
import { inVisibleProject } from '../../auth/access.ts';
import { invalidField } from '../../errors.ts';
import type { EventType } from '../../events/types.ts';
import { builder } from '../../schema/builder.ts';
import { type PageArguments, resolvePage } from '../../schema/connections.ts';
import type { GraphQLContext } from '../../schema/context.ts';
import { costOfKilobytes, LONG_TEXT, MAX_PAGE_SIZE } from '../../schema/cost.ts';
import { AttemptTriggerEnum, DeliveryStatusEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { Connector } from '../connectors/schema.ts';
import { Project } from '../projects/schema.ts';
import { Webhook } from '../webhooks/schema.ts';
import type { DeliveryFilter as Filter } from './filter.ts';
import type { DeliveryService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    deliveries: DeliveryService;
  }
}

/** All attempts on the standard retry schedule. */
const DEFAULT_ATTEMPTS = 10;

function requireSize(last: number): number {
  if (last >= 1 && last <= MAX_PAGE_SIZE) return last;
  throw invalidField('/last', `Must be from 1 to ${MAX_PAGE_SIZE}.`);
}

export const Attempt = builder.prismaObject('Attempt', {
  description: 'An attempt to send a delivery.',
  // Only what a document selects is read, because the responses can be large.
  select: { number: true },
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Identifier, `att_…`.' }),
    number: t.exposeInt('number', {
      description: 'The attempt’s number, starting at 1. Resends continue the numbering.',
    }),
    trigger: t.expose('trigger', { type: AttemptTriggerEnum, description: 'What triggered the attempt.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When the request was sent.' }),
    durationMs: t.exposeInt('durationMs', { description: 'Total duration in milliseconds.' }),
    dnsMs: t.exposeInt('dnsMs', {
      nullable: true,
      description: 'Time to resolve the host name, in milliseconds; null if the connection was already open.',
    }),
    connectMs: t.exposeInt('connectMs', {
      nullable: true,
      description: 'Time to open the TCP connection, in milliseconds; null if the connection was already open.',
    }),
    tlsMs: t.exposeInt('tlsMs', {
      nullable: true,
      description: 'Duration of the TLS handshake in milliseconds; null if there was none.',
    }),
    firstByteMs: t.exposeInt('firstByteMs', {
      nullable: true,
      description: 'Time from the request to the first byte of the response, in milliseconds.',
    }),
    requestMethod: t.exposeString('requestMethod', { nullable: true, description: 'HTTP method of the request.' }),
    requestUrl: t.exposeString('requestUrl', {
      ...LONG_TEXT,
      nullable: true,
      description: 'URL of the request, with secrets masked.',
    }),
    requestHeaders: t.expose('requestHeaders', {
      type: 'JSON',
      nullable: true,
      description: 'Request headers with lowercase names and masked credentials. Connection headers are omitted.',
    }),
    statusCode: t.exposeInt('statusCode', {
      nullable: true,
      description: 'HTTP status of the response, if there was one.',
    }),
    errorClass: t.exposeString('errorClass', {
      nullable: true,
      description: 'Stable error code, such as `timeout` or `connection_refused`.',
    }),
    errorMessage: t.exposeString('errorMessage', { nullable: true, description: 'The error in plain language.' }),
    responseHeaders: t.expose('responseHeaders', {
      type: 'JSON',
      nullable: true,
      description: 'Response headers with lowercase names, up to about 4 KB. Cookies are omitted.',
    }),
    responseBody: t.exposeString('responseBody', {
      nullable: true,
      complexity: costOfKilobytes(16),
      description: 'The beginning of the response body.',
    }),
    isContentOmitted: t.exposeBoolean('isContentOmitted', {
      description:
        'Whether the request and the response weren’t stored because the account had reached its daily limit. ' +
        'The fields for them are null.',
    }),
  }),
});

export const Delivery = builder.prismaNode('Delivery', {
  description: 'One event sent to one webhook or connector.',
  id: { field: 'id', description: 'Identifier, `dlv_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the delivery belongs to.' }),
    webhookId: t.exposeID('webhookId', {
      nullable: true,
      description: 'The webhook that the event is sent to, if any.',
    }),
    connectorId: t.exposeID('connectorId', {
      nullable: true,
      description: 'The connector that the event is sent to, if any.',
    }),
    eventId: t.exposeID('eventId', { description: 'The event being delivered.' }),
    eventType: t.field({
      type: EventTypeEnum,
      description: 'Type of the event.',
      resolve: ({ eventType }) => eventType as EventType,
    }),
    status: t.expose('status', { type: DeliveryStatusEnum, description: 'Status of the delivery.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why the delivery failed, was skipped, or is held.',
    }),
    statusCode: t.exposeInt('statusCode', { nullable: true, description: 'HTTP status of the last response.' }),
    responseTimeMs: t.exposeInt('responseTimeMs', {
      nullable: true,
      description: 'Duration of the last attempt in milliseconds.',
    }),
    errorClass: t.exposeString('errorClass', {
      nullable: true,
      description: 'Stable error code for the last failure.',
    }),
    attemptCount: t.exposeInt('attemptCount', { description: 'Number of attempts so far.' }),
    retryCount: t.int({
      description: 'Number of attempts after the first one.',
      resolve: ({ attemptCount }) => Math.max(0, attemptCount - 1),
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the next attempt; null if the delivery is finished or held.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the delivery was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the delivery last changed.' }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the delivery succeeded, failed, or was skipped.',
    }),
    event: t.relation('event', { description: 'The event being delivered.' }),
    webhook: t.relation('webhook', { nullable: true, description: 'The webhook that the event is sent to, if any.' }),
    connector: t.relation('connector', {
      nullable: true,
      description: 'The connector that the event is sent to, if any.',
    }),
    attempts: t.relation('attempts', {
      description: 'The last attempts, oldest first.',
      args: {
        last: t.arg.int({
          required: true,
          defaultValue: DEFAULT_ATTEMPTS,
          description: `How many attempts to return at most, from 1 to ${MAX_PAGE_SIZE}.`,
        }),
      },
      query: ({ last }) => ({ orderBy: { number: 'asc' }, take: -requireSize(last) }),
    }),
  }),
});

const DeliveryConnection = builder.connectionObject(
  { name: 'DeliveryConnection', type: Delivery, description: 'A page of deliveries, newest first.' },
  { name: 'DeliveryEdge', description: 'A delivery and its cursor.' },
);

const DeliveryFilter = builder.inputType('DeliveryFilter', {
  description: 'Filters deliveries. All conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [DeliveryStatusEnum], description: 'Only deliveries with one of these statuses.' }),
    eventTypes: t.field({ type: [EventTypeEnum], description: 'Only deliveries of these event types.' }),
    webhookId: t.id({ description: 'Only deliveries to this webhook.' }),
    connectorId: t.id({ description: 'Only deliveries to this connector.' }),
    eventId: t.id({ description: 'Only deliveries of this event.' }),
    from: t.field({ type: 'DateTime', description: 'Only deliveries created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only deliveries created before this time.' }),
    finishedFrom: t.field({
      type: 'DateTime',
      description:
        'Only deliveries that reached a final status at or after this time. Statistics count deliveries by this time.',
    }),
    finishedTo: t.field({
      type: 'DateTime',
      description: 'Only deliveries that reached a final status before this time.',
    }),
    since: t.field({ type: 'DateTime', description: 'Former name of `from`.' }),
  }),
});

type Request = { context: GraphQLContext; info: GraphQLResolveInfo };

const list = (projectId: string, filter: Filter, args: PageArguments, request: Request) =>
  resolvePage('Delivery', args, request, (query) =>
    request.context.services.deliveries.list(request.context.viewer, projectId, filter, query),
  );

builder.objectFields(Project, (t) => ({
  delivery: t.prismaField({
    type: Delivery,
    nullable: true,
    description: 'A delivery in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `dlv_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.deliveries.find(viewer, id, project.id, query),
  }),
  deliveries: t.connection(
    {
      type: Delivery,
      description: 'Deliveries to all webhooks and connectors in the project.',
      args: { filter: t.arg({ type: DeliveryFilter, description: 'Filters the deliveries.' }) },
      resolve: (project, { filter, ...args }, context, info) => list(project.id, filter ?? {}, args, { context, info }),
    },
    DeliveryConnection,
  ),
}));

builder.objectFields(Webhook, (t) => ({
  deliveries: t.connection(
    {
      type: Delivery,
      description: 'The webhook’s delivery history.',
      args: { filter: t.arg({ type: DeliveryFilter, description: 'Filters the deliveries.' }) },
      resolve: (webhook, { filter, ...args }, context, info) =>
        list(webhook.projectId, { ...filter, webhookId: webhook.id }, args, { context, info }),
    },
    DeliveryConnection,
  ),
}));

builder.objectFields(Connector, (t) => ({
  deliveries: t.connection(
    {
      type: Delivery,
      description: 'The connector’s delivery history.',
      args: { filter: t.arg({ type: DeliveryFilter, description: 'Filters the deliveries.' }) },
      resolve: (connector, { filter, ...args }, context, info) =>
        list(connector.projectId, { ...filter, connectorId: connector.id }, args, { context, info }),
    },
    DeliveryConnection,
  ),
}));

builder.relayMutationField(
  'resendDelivery',
  {
    description: 'The delivery to resend.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The delivery to resend.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Resends a delivery immediately, with the same event and the same `webhook-id`.',
    resolve: (_root, { input }, { services, viewer }) => services.deliveries.resend(viewer, input.id, input.projectId),
  },
  {
    description: 'The result of `resendDelivery`.',
    outputFields: (t) => ({
      delivery: t.field({
        type: Delivery,
        description: 'The delivery, which is pending again.',
        resolve: (delivery) => delivery,
      }),
    }),
  },
);

const DeliveryUpdated = builder.simpleObject('DeliveryUpdated', {
  description: 'A delivery that changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass this cursor as `after` to continue from here.' }),
    delivery: t.field({ type: Delivery, description: 'The delivery at the time it was read.' }),
  }),
});

builder.subscriptionField('deliveryUpdated', (t) =>
  t.field({
    type: DeliveryUpdated,
    nullable: true,
    description:
      'A project’s deliveries as they change. If you pass `after`, you first get the changes since that cursor. ' +
      'After you reconnect, the same change can arrive twice; compare `updatedAt` to detect this.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'The cursor of the last change you received.' }),
      filter: t.arg({ type: DeliveryFilter, description: 'Filters the deliveries.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.deliveries(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
