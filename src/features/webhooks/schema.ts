import { inVisibleProject } from '../../auth/access.ts';
import type { EventTypeFilter } from '../../events/kinds.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { EventTypeFilterEnum, WebhookOrderingEnum } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import { shownUrl } from '../urls/stored-url.ts';
import type { WebhookService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    webhooks: WebhookService;
  }
}

export const Webhook = builder.prismaNode('Webhook', {
  description: 'A receiver of the seller’s own, told of events by signed HTTP POST (Standard Webhooks).',
  id: { field: 'id', description: 'Identifier, `wh_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project it belongs to.' }),
    url: t.string({
      description: 'Where events are sent. API keys see its secrets masked.',
      resolve: ({ url }, _args, { viewer }) => shownUrl(viewer, url),
    }),
    description: t.exposeString('description', { nullable: true, description: 'For people.' }),
    eventTypes: t.field({
      type: [EventTypeFilterEnum],
      description: 'Events it is subscribed to.',
      resolve: ({ eventTypes }) => eventTypes as EventTypeFilter[],
    }),
    filter: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'Which of these events are sent, by their contents; null for all. The others become `SKIPPED` with the reason `filtered`.',
      resolve: ({ filter }) => filter,
    }),
    payloadVersion: t.exposeInt('payloadVersion', { description: 'The version of payloads that it is sent.' }),
    ordering: t.expose('ordering', {
      type: WebhookOrderingEnum,
      description: 'What its deliveries are kept in the order of.',
    }),
    orderingEscapeAfterAttempts: t.exposeInt('orderingEscapeAfterAttempts', {
      description: 'After so many failed attempts of a delivery those behind it are sent all the same.',
    }),
    isActive: t.exposeBoolean('isActive', { description: 'Whether events are sent.' }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why the service disabled it: `gone` (it answered 410) or `failing` (five days without a success).',
    }),
    disabledAt: t.expose('disabledAt', { type: 'DateTime', nullable: true, description: 'When it was disabled.' }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the current run of failures.',
    }),
    circuitOpenUntil: t.expose('circuitOpenUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'It has failed several times in a row: until then deliveries wait, apart from those resent by hand.',
    }),
    maxPerSecond: t.exposeInt('maxPerSecond', {
      nullable: true,
      description: 'The most requests a second that are sent to it; null for no limit.',
    }),
    previousSecretExpiresAt: t.expose('previousSecretExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the secret before the last rotation signs as well.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const WebhookConnection = builder.connectionObject(
  { name: 'WebhookConnection', type: Webhook, description: 'A page of webhooks, newest first.' },
  { name: 'WebhookEdge', description: 'A webhook and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  webhook: t.field({
    type: Webhook,
    nullable: true,
    description: 'One webhook of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `wh_…`.' }) },
    resolve: (project, { id }, { services, viewer }) => services.webhooks.find(viewer, id, project.id),
  }),
  webhooks: t.connection(
    {
      type: Webhook,
      description: 'Webhooks of the project.',
      resolve: (project, args, { services, viewer }) =>
        resolvePage('Webhook', args, (window) => services.webhooks.list(viewer, project.id, window)),
    },
    WebhookConnection,
  ),
}));

builder.relayMutationField(
  'createWebhook',
  {
    description: 'A new webhook.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add it to.' }),
      url: t.string({ required: true, description: 'Where to send events, https.' }),
      eventTypes: t.field({ type: [EventTypeFilterEnum], required: true, description: 'Events to subscribe to.' }),
      filter: t.field({
        type: 'JSON',
        description:
          'Which of these events to send, by their contents, for example `{"data.amountUsd": {"gte": "1.00"}}`; all when left out.',
      }),
      payloadVersion: t.int({ description: 'The version of payloads to send. Default: the newest.' }),
      ordering: t.field({
        type: WebhookOrderingEnum,
        description: 'What to keep its deliveries in the order of. Default: nothing.',
      }),
      orderingEscapeAfterAttempts: t.int({
        description:
          'After so many failed attempts of a delivery, 1 to 100, those behind it are sent all the same. Default: 4.',
      }),
      maxPerSecond: t.int({
        description: 'The most requests a second to send to it, 1 to 1000; no limit when left out.',
      }),
      description: t.string({ description: 'For people, at most 1000 characters.' }),
    }),
  },
  {
    description: 'Creates a webhook.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.webhooks.create(viewer, projectId, input),
  },
  {
    description: 'What `createWebhook` made.',
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The new webhook.', resolve: ({ webhook }) => webhook }),
      secret: t.exposeString('secret', { description: 'The signing secret, `whsec_…`. It is shown here once.' }),
    }),
  },
);

builder.relayMutationField(
  'updateWebhook',
  {
    description: 'Changes to a webhook. Fields left out stay as they are.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook to change.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
      url: t.string({ description: 'Where to send events, https.' }),
      eventTypes: t.field({ type: [EventTypeFilterEnum], description: 'Events to subscribe to.' }),
      filter: t.field({
        type: 'JSON',
        description:
          'Which of these events to send, by their contents, for example `{"data.amountUsd": {"gte": "1.00"}}`; null for all.',
      }),
      payloadVersion: t.int({ description: 'The version of payloads to send.' }),
      ordering: t.field({
        type: WebhookOrderingEnum,
        description: 'What to keep its deliveries in the order of.',
      }),
      orderingEscapeAfterAttempts: t.int({
        description: 'After so many failed attempts of a delivery, 1 to 100, those behind it are sent all the same.',
      }),
      maxPerSecond: t.int({ description: 'The most requests a second to send to it, 1 to 1000; null for no limit.' }),
      isActive: t.boolean({
        description:
          'Whether events are sent. While it is false they are skipped, and not delivered later by themselves. True also forgets ' +
          'why it had been disabled.',
      }),
      description: t.string({ description: 'For people, at most 1000 characters; null removes it.' }),
    }),
  },
  {
    description: 'Changes a webhook.',
    resolve: (_root, { input: { id, projectId, ...changes } }, { services, viewer }) =>
      services.webhooks.update(viewer, id, changes, projectId),
  },
  {
    description: 'What `updateWebhook` changed.',
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The webhook as it is now.', resolve: (webhook) => webhook }),
    }),
  },
);

builder.relayMutationField(
  'deleteWebhook',
  {
    description: 'The webhook to delete.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook to delete.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
    }),
  },
  {
    description: 'Deletes a webhook with its history.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.webhooks.delete(viewer, input.id, input.projectId);
      return { webhookId: input.id };
    },
  },
  {
    description: 'What `deleteWebhook` deleted.',
    outputFields: (t) => ({ webhookId: t.exposeID('webhookId', { description: 'Identifier of what is gone.' }) }),
  },
);

builder.relayMutationField(
  'rotateWebhookSecret',
  {
    description: 'The webhook whose secret to rotate.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook.' }),
      projectId: t.id({ description: 'If given, the project it must belong to.' }),
      overlapHours: t.int({ description: 'How long the old secret signs as well, 0 to 168 hours. Default 24.' }),
    }),
  },
  {
    description: 'Makes a new signing secret. Until the overlap ends, requests carry a signature by each.',
    resolve: (_root, { input: { id, projectId, ...input } }, { services, viewer }) =>
      services.webhooks.rotateSecret(viewer, id, input, projectId),
  },
  {
    description: 'What `rotateWebhookSecret` made.',
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The webhook.', resolve: ({ webhook }) => webhook }),
      secret: t.exposeString('secret', { description: 'The new signing secret. It is shown here once.' }),
    }),
  },
);
