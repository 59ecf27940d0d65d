import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { CERTIFICATES, LONG_TEXT } from '../../schema/cost.ts';
import { WebhookOrderingEnum } from '../../schema/scalars.ts';
import { totalCountField } from '../../schema/total-count.ts';
import { asDestination, DESTINATION_COLUMNS, destinationFields, FILTER_FIELD } from '../destinations/schema.ts';
import { Project } from '../projects/schema.ts';
import { shownUrl } from '../urls/stored-url.ts';
import {
  RetryScheduleEnum,
  WebhookAuthentication,
  WebhookClientCertificate,
  WebhookHeader,
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
  description: 'An HTTPS URL on your server that receives events as signed POST requests (Standard Webhooks).',
  id: { field: 'id', description: 'Identifier, `wh_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  // The other columns can be large, so they are read only for documents that select them.
  select: DESTINATION_COLUMNS,
  fields: (t) => ({
    filter: t.expose('filter', FILTER_FIELD),
    url: t.string({
      ...LONG_TEXT,
      description: 'Where events are sent. Its secrets are masked for API keys and for the role `VIEWER`.',
      select: { url: true },
      resolve: ({ projectId, url }, _args, { viewer }) => shownUrl(viewer, projectId, url),
    }),
    description: t.exposeString('description', {
      ...LONG_TEXT,
      nullable: true,
      description: 'Free-text description.',
    }),
    payloadVersion: t.exposeInt('payloadVersion', { description: 'The payload version that the webhook receives.' }),
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
      description: 'The webhook’s custom headers, in addition to the headers that Tollgate sets.',
      select: { credentials: true },
      resolve: (webhook) => [...shownCredentialsOf(webhook).headers],
    }),
    authentication: t.field({
      type: WebhookAuthentication,
      nullable: true,
      description: 'How requests are authenticated, in addition to being signed; null if they are only signed.',
      select: { credentials: true },
      resolve: (webhook, _args, { viewer }) => {
        const { authentication } = shownCredentialsOf(webhook);
        if (!authentication || !('tokenUrl' in authentication)) return authentication;
        return { ...authentication, tokenUrl: shownUrl(viewer, webhook.projectId, authentication.tokenUrl) };
      },
    }),
    clientCertificate: t.field({
      type: WebhookClientCertificate,
      nullable: true,
      description: 'The certificate with which Tollgate identifies itself to the server (mutual TLS).',
      select: { credentials: true },
      resolve: (webhook) => shownCredentialsOf(webhook).tls?.clientCertificate ?? null,
    }),
    certificateAuthority: t.string({
      ...CERTIFICATES,
      nullable: true,
      description:
        'The only authority that is trusted to certify the server, in PEM format; null if public authorities are trusted.',
      select: { credentials: true },
      resolve: (webhook) => shownCredentialsOf(webhook).tls?.certificateAuthority ?? null,
    }),
    timeoutSeconds: t.int({
      description: 'Time limit for a request, including its complete response, in seconds.',
      select: { timeoutSeconds: true },
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
  {
    name: 'WebhookConnection',
    type: Webhook,
    description: 'A page of webhooks, newest first.',
    fields: totalCountField,
  },
  { name: 'WebhookEdge', description: 'A webhook and its cursor.' },
);

const WebhookFilter = builder.inputType('WebhookFilter', {
  description: 'Filters webhooks. All conditions must match.',
  fields: (t) => ({
    name: t.string({ description: 'Only webhooks whose name contains this text, regardless of case.' }),
    isActive: t.boolean({ description: 'Only webhooks that are active (`true`) or disabled (`false`).' }),
    isPaused: t.boolean({ description: 'Only webhooks whose deliveries are held (`true`) or not (`false`).' }),
    from: t.field({ type: 'DateTime', description: 'Only webhooks created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only webhooks created before this time.' }),
  }),
});

builder.objectFields(Project, (t) => ({
  remainingWebhooks: t.int({
    nullable: true,
    description: 'How many more webhooks the project can have; null means unlimited.',
    resolve: ({ id }, _args, { services, viewer }) => services.webhooks.quota(viewer, id),
  }),
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
      args: { filter: t.arg({ type: WebhookFilter, description: 'Filters the webhooks.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage(
          'Webhook',
          args,
          { context, info },
          (query) => context.services.webhooks.list(context.viewer, project.id, filter ?? {}, query),
          () => context.services.webhooks.count(context.viewer, project.id, filter ?? {}),
        ),
    },
    WebhookConnection,
  ),
}));
