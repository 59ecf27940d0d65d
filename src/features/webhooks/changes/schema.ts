import { builder } from '../../../schema/builder.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
import { WebhookOrderingEnum } from '../../../schema/scalars.ts';
import { subscriptionChanges, subscriptionInputs } from '../../destinations/schema.ts';
import { overlapInput } from '../../rotation/overlap.ts';
import {
  RetryScheduleEnum,
  WebhookAuthenticationInput,
  WebhookClientCertificateInput,
  WebhookHeaderInput,
} from '../credentials-schema.ts';
import { WEBHOOK_RULES } from '../input.ts';
import { Webhook } from '../schema.ts';

builder.relayMutationField(
  'createWebhook',
  {
    description: 'Properties of the new webhook.',
    extensions: checkedBy(WEBHOOK_RULES.createInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add the webhook to.' }),
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
        description: 'Headers to add to requests. Up to 20 headers, totaling up to 8,192 bytes.',
      }),
      authentication: t.field({
        type: WebhookAuthenticationInput,
        description: 'How to authenticate requests, in addition to signing them.',
      }),
      clientCertificate: t.field({
        type: WebhookClientCertificateInput,
        description: 'For servers that require a client certificate (mutual TLS).',
      }),
      certificateAuthority: t.string({
        description:
          'If your server’s certificate comes from a private authority: the authority’s certificate, in PEM format. Tollgate then trusts only this authority for the webhook.',
      }),
      timeoutSeconds: t.int({
        description: 'Time limit for a request, including its complete response: 1 to 30 seconds. Default: 15.',
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
      webhook: t.prismaField({
        type: Webhook,
        description: 'The new webhook.',
        resolve: (query, { webhook }) => loadedRow(query, webhook),
      }),
      secret: t.exposeString('secret', { description: 'The signing secret, `whsec_…`. Shown only once.' }),
    }),
  },
);

builder.relayMutationField(
  'updateWebhook',
  {
    description: 'Changes to a webhook. Omitted fields stay unchanged.',
    extensions: checkedBy(WEBHOOK_RULES.updateInput),
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
          'Headers to add to requests. Up to 20 headers, totaling up to 8,192 bytes. Replaces the whole list. Set to null to remove all headers. Masked values that you send back stay unchanged. If you change the URL, send every value again.',
      }),
      authentication: t.field({
        type: WebhookAuthenticationInput,
        description:
          'How to authenticate requests, in addition to signing them. Set to null to remove the authentication. If you change the webhook’s URL, send the authentication secrets again.',
      }),
      clientCertificate: t.field({
        type: WebhookClientCertificateInput,
        description:
          'For servers that require a client certificate (mutual TLS). Set to null to remove it. If you change the webhook’s URL, send the private key again.',
      }),
      certificateAuthority: t.string({
        description:
          'The certificate of a private authority, in PEM format. Tollgate then trusts only this authority for the webhook. Set to null to trust public authorities.',
      }),
      timeoutSeconds: t.int({
        description: 'Time limit for a request, including its complete response: 1 to 30 seconds.',
      }),
      retrySchedule: t.field({
        type: RetryScheduleEnum,
        description:
          'When failed deliveries are retried. Deliveries that are already waiting switch to the new schedule after their next failure.',
      }),
      description: t.string({
        description: 'Free-text description, up to 1,000 characters. Set to null to remove it.',
      }),
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
      webhook: t.prismaField({
        type: Webhook,
        description: 'The updated webhook.',
        resolve: (query, webhook) => loadedRow(query, webhook),
      }),
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
    extensions: checkedBy(overlapInput),
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
      webhook: t.prismaField({
        type: Webhook,
        description: 'The webhook.',
        resolve: (query, { webhook }) => loadedRow(query, webhook),
      }),
      secret: t.exposeString('secret', { description: 'The new signing secret. Shown only once.' }),
    }),
  },
);
