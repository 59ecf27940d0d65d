import type { GraphQLResolveInfo } from 'graphql';
import { inVisibleProject } from '../../auth/access.ts';
import type { EventKind } from '../../events/kinds.ts';
import { builder } from '../../schema/builder.ts';
import { type PageArguments, resolvePage } from '../../schema/connections.ts';
import type { GraphQLContext } from '../../schema/context.ts';
import { AttemptTriggerEnum, DeliveryStatusEnum, EventTypeEnum } from '../../schema/scalars.ts';
import { Connector } from '../connectors/schema.ts';
import { Project } from '../projects/schema.ts';
import { Webhook } from '../webhooks/schema.ts';
import type { DeliveryService, DeliveryFilter as Filter } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    deliveries: DeliveryService;
  }
}

export const Attempt = builder.prismaObject('Attempt', {
  description: 'One try of a delivery.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Identifier, `att_…`.' }),
    number: t.exposeInt('number', { description: 'Counts from 1 over the life of the delivery.' }),
    trigger: t.expose('trigger', { type: AttemptTriggerEnum, description: 'What caused it.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was sent.' }),
    durationMs: t.exposeInt('durationMs', { description: 'Milliseconds it took in all.' }),
    dnsMs: t.exposeInt('dnsMs', {
      nullable: true,
      description: 'Milliseconds of resolving the name; null on a connection that was open already.',
    }),
    connectMs: t.exposeInt('connectMs', {
      nullable: true,
      description: 'Milliseconds of opening the TCP connection; null where it was open already.',
    }),
    tlsMs: t.exposeInt('tlsMs', {
      nullable: true,
      description: 'Milliseconds of the TLS handshake; null where there was none.',
    }),
    firstByteMs: t.exposeInt('firstByteMs', {
      nullable: true,
      description: 'Milliseconds from the request to the first byte of the answer.',
    }),
    requestMethod: t.exposeString('requestMethod', { nullable: true, description: 'HTTP method of the request.' }),
    requestUrl: t.exposeString('requestUrl', { nullable: true, description: 'Its URL, secrets masked.' }),
    requestHeaders: t.expose('requestHeaders', {
      type: 'JSON',
      nullable: true,
      description: 'Its headers, names in lower case, without those of the connection; what authenticates is masked.',
    }),
    statusCode: t.exposeInt('statusCode', {
      nullable: true,
      description: 'HTTP status of the answer, if there was one.',
    }),
    errorClass: t.exposeString('errorClass', {
      nullable: true,
      description: 'Stable code of what went wrong, for example `timeout` or `connection_refused`.',
    }),
    errorMessage: t.exposeString('errorMessage', { nullable: true, description: 'The same, for people.' }),
    responseHeaders: t.expose('responseHeaders', {
      type: 'JSON',
      nullable: true,
      description: 'Headers of the answer, names in lower case, about 4 KB of them, without cookies.',
    }),
    responseBody: t.exposeString('responseBody', { nullable: true, description: 'Start of the answer’s body.' }),
  }),
});

export const Delivery = builder.prismaNode('Delivery', {
  description: 'One event on its way to one webhook or connector.',
  id: { field: 'id', description: 'Identifier, `dlv_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    webhookId: t.exposeID('webhookId', { nullable: true, description: 'The webhook it goes to, if it is one.' }),
    connectorId: t.exposeID('connectorId', { nullable: true, description: 'The connector it goes to, if it is one.' }),
    eventId: t.exposeID('eventId', { description: 'The event it carries.' }),
    eventType: t.field({
      type: EventTypeEnum,
      description: 'Kind of the event.',
      resolve: ({ eventType }) => eventType as EventKind,
    }),
    status: t.expose('status', { type: DeliveryStatusEnum, description: 'Where it stands.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it was skipped, is held, or has failed.' }),
    statusCode: t.exposeInt('statusCode', { nullable: true, description: 'HTTP status of the last answer.' }),
    responseTimeMs: t.exposeInt('responseTimeMs', {
      nullable: true,
      description: 'Milliseconds the last attempt took.',
    }),
    errorClass: t.exposeString('errorClass', { nullable: true, description: 'Stable code of the last failure.' }),
    attemptCount: t.exposeInt('attemptCount', { description: 'Attempts so far.' }),
    retryCount: t.int({
      description: 'Attempts so far after the first.',
      resolve: ({ attemptCount }) => Math.max(0, attemptCount - 1),
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is due next; null when it is finished or held.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    completedAt: t.expose('completedAt', { type: 'DateTime', nullable: true, description: 'When it was finished.' }),
    event: t.relation('event', { description: 'The event it carries.' }),
    attempts: t.relation('attempts', {
      description: 'Its attempts, oldest first; the last 100.',
      query: { orderBy: { number: 'asc' }, take: -100 },
    }),
  }),
});

export const DeliveryConnection = builder.connectionObject(
  { name: 'DeliveryConnection', type: Delivery, description: 'A page of deliveries, newest first.' },
  { name: 'DeliveryEdge', description: 'A delivery and its cursor.' },
);

const DeliveryFilter = builder.inputType('DeliveryFilter', {
  description: 'Which deliveries to list.',
  fields: (t) => ({
    status: t.field({ type: [DeliveryStatusEnum], description: 'In one of these states.' }),
    eventTypes: t.field({ type: [EventTypeEnum], description: 'Of events of these kinds.' }),
    since: t.field({ type: 'DateTime', description: 'Created at or after.' }),
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
    description: 'One delivery of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `dlv_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.deliveries.find(viewer, id, project.id, query),
  }),
  deliveries: t.connection(
    {
      type: Delivery,
      description: 'Deliveries to all webhooks and connectors of the project.',
      args: { filter: t.arg({ type: DeliveryFilter, description: 'Which ones.' }) },
      resolve: (project, { filter, ...args }, context, info) => list(project.id, filter ?? {}, args, { context, info }),
    },
    DeliveryConnection,
  ),
}));

builder.objectFields(Webhook, (t) => ({
  deliveries: t.connection(
    {
      type: Delivery,
      description: 'Delivery history of the webhook.',
      args: { filter: t.arg({ type: DeliveryFilter, description: 'Which ones.' }) },
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
      description: 'Delivery history of the connector.',
      args: { filter: t.arg({ type: DeliveryFilter, description: 'Which ones.' }) },
      resolve: (connector, { filter, ...args }, context, info) =>
        list(connector.projectId, { ...filter, connectorId: connector.id }, args, { context, info }),
    },
    DeliveryConnection,
  ),
}));

builder.relayMutationField(
  'resendDelivery',
  {
    description: 'The delivery to send again.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The delivery to send again.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
    }),
  },
  {
    description: 'Sends a delivery again, now: the same event under the same `webhook-id`.',
    resolve: (_root, { input }, { services, viewer }) => services.deliveries.resend(viewer, input.id, input.projectId),
  },
  {
    description: 'What `resendDelivery` started.',
    outputFields: (t) => ({
      delivery: t.field({
        type: Delivery,
        description: 'The delivery, pending again.',
        resolve: (delivery) => delivery,
      }),
    }),
  },
);

builder.relayMutationField(
  'sendWebhookTestEvent',
  {
    description: 'The webhook to try out.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
      eventType: t.field({ type: EventTypeEnum, description: 'Default: the first kind it is subscribed to.' }),
    }),
  },
  {
    description: 'Sends an event with a sample payload, marked `"test": true`, to one webhook.',
    resolve: (_root, { input: { id, projectId, ...input } }, { services, viewer }) =>
      services.webhooks.sendTestEvent(viewer, id, input, projectId),
  },
  {
    description: 'What `sendWebhookTestEvent` sent.',
    outputFields: (t) => ({
      delivery: t.field({
        type: Delivery,
        description: 'The delivery of the test event.',
        resolve: (delivery) => delivery,
      }),
    }),
  },
);

const ConnectorProbeResult = builder.simpleObject('ConnectorProbeResult', {
  description: 'What the vendor said of the credentials.',
  fields: (t) => ({
    ok: t.boolean({ description: 'Whether they work.' }),
    message: t.string({ description: 'The same, for people.' }),
  }),
});

builder.relayMutationField(
  'testConnector',
  {
    description: 'The connector to try out.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
      eventType: t.field({
        type: EventTypeEnum,
        description: 'Send a test event of this kind, even if it can be probed.',
      }),
    }),
  },
  {
    description:
      'Tries a connector out: checks the credentials where the vendor has a call for it that nobody notices, otherwise ' +
      'sends an event with a sample payload, marked as a test.',
    resolve: (_root, { input: { id, projectId, ...input } }, { services, viewer }) =>
      services.connectors.test(viewer, id, input, projectId),
  },
  {
    description: 'What `testConnector` did: one of the two.',
    outputFields: (t) => ({
      probe: t.field({
        type: ConnectorProbeResult,
        nullable: true,
        description: 'What the check found.',
        resolve: ({ probe }) => probe,
      }),
      delivery: t.field({
        type: Delivery,
        nullable: true,
        description: 'The delivery of the test event.',
        resolve: ({ delivery }) => delivery,
      }),
    }),
  },
);

export const DeliveryUpdated = builder.simpleObject('DeliveryUpdated', {
  description: 'A delivery that changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass it as `after` to go on from here.' }),
    delivery: t.field({ type: Delivery, description: 'The delivery as it was when it was read.' }),
  }),
});

builder.subscriptionField('deliveryUpdated', (t) =>
  t.field({
    type: DeliveryUpdated,
    nullable: true,
    description:
      'Deliveries of a project as they change. With `after`, first what was missed since that cursor. ' +
      'A change can come twice after a reconnect: compare `updatedAt`.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'Cursor of the last one seen.' }),
      filter: t.arg({ type: DeliveryFilter, description: 'Which ones.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.deliveries(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
