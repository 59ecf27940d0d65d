import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { WebhookOrderingEnum } from '../../schema/scalars.ts';
import { addDestinationFields, subscriptionChanges, subscriptionInputs } from '../destinations/schema.ts';
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
    url: t.string({
      description: 'Where events are sent. API keys see its secrets masked.',
      resolve: ({ url }, _args, { viewer }) => shownUrl(viewer, url),
    }),
    description: t.exposeString('description', { nullable: true, description: 'For people.' }),
    payloadVersion: t.exposeInt('payloadVersion', { description: 'The version of payloads that it is sent.' }),
    ordering: t.expose('ordering', {
      type: WebhookOrderingEnum,
      description: 'What its deliveries are kept in the order of.',
    }),
    orderingEscapeAfterAttempts: t.exposeInt('orderingEscapeAfterAttempts', {
      description: 'After so many failed attempts of a delivery those behind it are sent all the same.',
    }),
    previousSecretExpiresAt: t.expose('previousSecretExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the secret before the last rotation signs as well.',
    }),
  }),
});

addDestinationFields(Webhook);

export const WebhookConnection = builder.connectionObject(
  { name: 'WebhookConnection', type: Webhook, description: 'A page of webhooks, newest first.' },
  { name: 'WebhookEdge', description: 'A webhook and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  webhook: t.prismaField({
    type: Webhook,
    nullable: true,
    description: 'One webhook of the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `wh_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.webhooks.find(viewer, id, project.id, query),
  }),
  webhooks: t.connection(
    {
      type: Webhook,
      description: 'Webhooks of the project.',
      resolve: (project, args, context, info) =>
        resolvePage('Webhook', args, { context, info }, (query) =>
          context.services.webhooks.list(context.viewer, project.id, query),
        ),
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
      ...subscriptionInputs(t),
      payloadVersion: t.int({ description: 'The version of payloads to send. Default: the newest.' }),
      ordering: t.field({
        type: WebhookOrderingEnum,
        description: 'What to keep its deliveries in the order of. Default: nothing.',
      }),
      orderingEscapeAfterAttempts: t.int({
        description:
          'After so many failed attempts of a delivery, 1 to 100, those behind it are sent all the same. Default: 4.',
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
      ...subscriptionChanges(t),
      payloadVersion: t.int({ description: 'The version of payloads to send.' }),
      ordering: t.field({
        type: WebhookOrderingEnum,
        description: 'What to keep its deliveries in the order of.',
      }),
      orderingEscapeAfterAttempts: t.int({
        description: 'After so many failed attempts of a delivery, 1 to 100, those behind it are sent all the same.',
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
