import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { WebhookOrderingEnum } from '../../schema/scalars.ts';
import { asDestination, destinationFields, subscriptionChanges, subscriptionInputs } from '../destinations/schema.ts';
import { Project } from '../projects/schema.ts';
import { shownUrl } from '../urls/stored-url.ts';
import {
  RetryScheduleEnum,
  WebhookAuthentication,
  WebhookAuthenticationInput,
  WebhookHeader,
  WebhookHeaderInput,
} from './credentials-schema.ts';
import { DEFAULT_TIMEOUT_SECONDS } from './input.ts';
import type { WebhookService } from './service.ts';
import { shownCredentialsOf } from './stored-credentials.ts';

declare module '../../schema/context.ts' {
  interface Services {
    webhooks: WebhookService;
  }
}

export const Webhook = builder.prismaNode('Webhook', {
  description: 'An HTTPS URL of yours that receives events as signed POST requests (Standard Webhooks).',
  id: { field: 'id', description: 'Identifier, `wh_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    url: t.string({
      description: 'Where events are sent. If you read this URL with an API key, its secrets are masked.',
      resolve: ({ url }, _args, { viewer }) => shownUrl(viewer, url),
    }),
    description: t.exposeString('description', { nullable: true, description: 'Free-text description.' }),
    payloadVersion: t.exposeInt('payloadVersion', { description: 'The payload version that it receives.' }),
    ordering: t.expose('ordering', {
      type: WebhookOrderingEnum,
      description: 'How deliveries are ordered.',
    }),
    orderingEscapeAfterAttempts: t.exposeInt('orderingEscapeAfterAttempts', {
      description:
        'The number of failed attempts after which later deliveries are sent anyway. Applies only to ordered deliveries.',
    }),
    headers: t.field({
      type: [WebhookHeader],
      description: 'The webhook’s own headers, in addition to those that Tollgate sets.',
      resolve: (webhook) => [...shownCredentialsOf(webhook).headers],
    }),
    authentication: t.field({
      type: WebhookAuthentication,
      nullable: true,
      description: 'How requests are authenticated in addition to their signature; null for the signature only.',
      resolve: (webhook) => shownCredentialsOf(webhook).authentication,
    }),
    timeoutSeconds: t.int({
      description: 'How long a request may take until its response is complete, in seconds.',
      resolve: ({ timeoutSeconds }) => timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    }),
    retrySchedule: t.expose('retrySchedule', {
      type: RetryScheduleEnum,
      description: 'When failed deliveries are retried.',
    }),
    previousSecretExpiresAt: t.expose('previousSecretExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until this time, requests are also signed with the previous secret.',
    }),
  }),
});

builder.objectFields(asDestination(Webhook), destinationFields);

const WebhookConnection = builder.connectionObject(
  { name: 'WebhookConnection', type: Webhook, description: 'A page of webhooks, newest first.' },
  { name: 'WebhookEdge', description: 'A webhook and its cursor.' },
);

builder.objectFields(Project, (t) => ({
  webhook: t.prismaField({
    type: Webhook,
    nullable: true,
    description: 'A webhook in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `wh_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.webhooks.find(viewer, id, project.id, query),
  }),
  webhooks: t.connection(
    {
      type: Webhook,
      description: 'The project’s webhooks.',
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
    description: 'Properties of the new webhook.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add it to.' }),
      url: t.string({ required: true, description: 'HTTPS URL to send events to.' }),
      ...subscriptionInputs(t),
      payloadVersion: t.int({ description: 'The payload version to send. Default: the newest.' }),
      ordering: t.field({
        type: WebhookOrderingEnum,
        description: 'How deliveries are ordered. Default: `NONE`.',
      }),
      orderingEscapeAfterAttempts: t.int({
        description:
          'The number of failed attempts (1 to 100) after which later deliveries are sent anyway. Applies only to ordered deliveries. Default: 4.',
      }),
      headers: t.field({
        type: [WebhookHeaderInput],
        description: 'Headers to add to the requests: up to 20, and 8,192 bytes in total.',
      }),
      authentication: t.field({
        type: WebhookAuthenticationInput,
        description: 'How to authenticate the requests in addition to their signature.',
      }),
      timeoutSeconds: t.int({
        description: 'How long a request may take until its response is complete: 1 to 30 seconds. Default: 15.',
      }),
      retrySchedule: t.field({
        type: RetryScheduleEnum,
        description: 'When failed deliveries are retried. Default: `STANDARD`.',
      }),
      description: t.string({ description: 'Free-text description, up to 1,000 characters.' }),
    }),
  },
  {
    description: 'Creates a webhook.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.webhooks.create(viewer, projectId, input),
  },
  {
    description: 'The result of `createWebhook`.',
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The new webhook.', resolve: ({ webhook }) => webhook }),
      secret: t.exposeString('secret', { description: 'The signing secret, `whsec_…`. It is shown only once.' }),
    }),
  },
);

builder.relayMutationField(
  'updateWebhook',
  {
    description: 'Changes to a webhook. Omitted fields stay unchanged.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook to update.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      url: t.string({ description: 'HTTPS URL to send events to.' }),
      ...subscriptionChanges(t),
      payloadVersion: t.int({ description: 'The payload version to send.' }),
      ordering: t.field({
        type: WebhookOrderingEnum,
        description: 'How deliveries are ordered.',
      }),
      orderingEscapeAfterAttempts: t.int({
        description:
          'The number of failed attempts (1 to 100) after which later deliveries are sent anyway. Applies only to ordered deliveries.',
      }),
      headers: t.field({
        type: [WebhookHeaderInput],
        description:
          'Headers to add to the requests: up to 20, and 8,192 bytes in total. Replaces the whole list; null removes it. Masked values that you send back stay unchanged. If you change the URL, send every value again.',
      }),
      authentication: t.field({
        type: WebhookAuthenticationInput,
        description:
          'How to authenticate the requests in addition to their signature. Null removes it. If you change the URL, send the secrets in it again.',
      }),
      timeoutSeconds: t.int({
        description: 'How long a request may take until its response is complete: 1 to 30 seconds.',
      }),
      retrySchedule: t.field({
        type: RetryScheduleEnum,
        description:
          'When failed deliveries are retried. Deliveries that are already waiting use a new schedule from their next failure.',
      }),
      description: t.string({ description: 'Free-text description, up to 1,000 characters. Null removes it.' }),
    }),
  },
  {
    description: 'Updates a webhook.',
    resolve: (_root, { input: { id, projectId, ...changes } }, { services, viewer }) =>
      services.webhooks.update(viewer, id, changes, projectId),
  },
  {
    description: 'The result of `updateWebhook`.',
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The updated webhook.', resolve: (webhook) => webhook }),
    }),
  },
);

builder.relayMutationField(
  'deleteWebhook',
  {
    description: 'The webhook to delete.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook to delete.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Deletes a webhook and its delivery history.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.webhooks.delete(viewer, input.id, input.projectId);
      return { webhookId: input.id };
    },
  },
  {
    description: 'The result of `deleteWebhook`.',
    outputFields: (t) => ({
      webhookId: t.exposeID('webhookId', { description: 'The identifier of the deleted webhook.' }),
    }),
  },
);

builder.relayMutationField(
  'rotateWebhookSecret',
  {
    description: 'The webhook that gets a new signing secret, and how long requests are also signed with the old one.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      overlapHours: t.int({
        description: 'How many hours (0 to 168) requests are also signed with the old secret. Default: 24.',
      }),
    }),
  },
  {
    description:
      'Creates a new signing secret. Until the overlap ends, requests are signed with both the old and new secrets.',
    resolve: (_root, { input: { id, projectId, ...input } }, { services, viewer }) =>
      services.webhooks.rotateSecret(viewer, id, input, projectId),
  },
  {
    description: 'The result of `rotateWebhookSecret`.',
    outputFields: (t) => ({
      webhook: t.field({ type: Webhook, description: 'The webhook.', resolve: ({ webhook }) => webhook }),
      secret: t.exposeString('secret', { description: 'The new signing secret. It is shown only once.' }),
    }),
  },
);
