import { X509Certificate } from 'node:crypto';
import { RetrySchedule } from '../../generated/prisma/enums.ts';
import { builder } from '../../schema/builder.ts';
import { CERTIFICATES } from '../../schema/cost.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { AUTHENTICATION_RULES, AUTHENTICATION_TYPES } from './credentials.ts';
import { webhookHeaderRules } from './header-rules.ts';
import type { shownCredentialsOf } from './stored-credentials.ts';
import { clientCertificateInput } from './tls.ts';

type Authentication = NonNullable<ReturnType<typeof shownCredentialsOf>['authentication']>;

export const RetryScheduleEnum = builder.enumType('RetrySchedule', {
  description: 'When failed deliveries are retried.',
  values: {
    STANDARD: {
      value: RetrySchedule.STANDARD,
      description: 'Retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, and 24 h: about 3 days in total.',
    },
    SHORT: {
      value: RetrySchedule.SHORT,
      description: 'Retries after 5 s, 1 min, 5 min, 10 min, 15 min, and 30 min: about an hour in total.',
    },
    LONG: {
      value: RetrySchedule.LONG,
      description:
        'Retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, 24 h, 24 h, 24 h, and 24 h: about a week in total.',
    },
    NONE: { value: RetrySchedule.NONE, description: 'No retries. Each delivery gets a single attempt.' },
  },
});

const TYPE_DESCRIPTIONS: Readonly<Record<Authentication['type'], string>> = {
  BASIC: 'A user name and a password (RFC 7617).',
  BEARER: 'A fixed bearer token (RFC 6750).',
  OAUTH2_CLIENT_CREDENTIALS:
    'Access tokens that Tollgate gets from your token URL with a client ID and a client secret (RFC 6749, section 4.4).',
};

const AuthenticationTypeEnum = builder.enumType('WebhookAuthenticationType', {
  description: 'How a webhook’s requests are authenticated, in addition to their signature.',
  values: Object.fromEntries(
    AUTHENTICATION_TYPES.map((type) => [type, { value: type, description: TYPE_DESCRIPTIONS[type] }]),
  ),
});

export const WebhookHeader = builder.simpleObject('WebhookHeader', {
  description: 'A header that is added to a webhook’s requests.',
  fields: (t) => ({
    name: t.string({ description: 'The name of the header.' }),
    value: t.string({
      description: 'The header’s value, masked as `••••` followed by at most its last four characters.',
    }),
  }),
});

const MASKED = 'masked as `••••` followed by at most its last four characters';

export const WebhookAuthentication = builder.objectRef<Authentication>('WebhookAuthentication').implement({
  description: 'How a webhook’s requests are authenticated, in addition to their signature.',
  fields: (t) => ({
    type: t.field({
      type: AuthenticationTypeEnum,
      description: 'The type of authentication.',
      resolve: ({ type }) => type,
    }),
    username: t.string({
      nullable: true,
      description: 'The user name. Returned only for `BASIC`.',
      resolve: (shown) => (shown.type === 'BASIC' ? shown.username : null),
    }),
    password: t.string({
      nullable: true,
      description: `The password, ${MASKED}. Returned only for \`BASIC\`.`,
      resolve: (shown) => (shown.type === 'BASIC' ? shown.password : null),
    }),
    token: t.string({
      nullable: true,
      description: `The token, ${MASKED}. Returned only for \`BEARER\`.`,
      resolve: (shown) => (shown.type === 'BEARER' ? shown.token : null),
    }),
    tokenUrl: t.string({
      nullable: true,
      description:
        'The URL that issues access tokens. The URL’s secrets are masked for API keys and for the role `VIEWER`. Returned only for `OAUTH2_CLIENT_CREDENTIALS`.',
      resolve: (shown) => ('tokenUrl' in shown ? shown.tokenUrl : null),
    }),
    clientId: t.string({
      nullable: true,
      description: 'The client ID. Returned only for `OAUTH2_CLIENT_CREDENTIALS`.',
      resolve: (shown) => ('clientId' in shown ? shown.clientId : null),
    }),
    clientSecret: t.string({
      nullable: true,
      description: `The client secret, ${MASKED}. Returned only for \`OAUTH2_CLIENT_CREDENTIALS\`.`,
      resolve: (shown) => ('clientSecret' in shown ? shown.clientSecret : null),
    }),
    scope: t.string({
      nullable: true,
      description: 'The scopes to request, separated by spaces. Returned only for `OAUTH2_CLIENT_CREDENTIALS`.',
      resolve: (shown) => ('scope' in shown ? (shown.scope ?? null) : null),
    }),
  }),
});

type ClientCertificate = NonNullable<NonNullable<ReturnType<typeof shownCredentialsOf>['tls']>['clientCertificate']>;

export const WebhookClientCertificate = builder.objectRef<ClientCertificate>('WebhookClientCertificate').implement({
  description: 'The certificate with which Tollgate identifies itself to a webhook’s server (mutual TLS).',
  fields: (t) => ({
    certificate: t.exposeString('certificate', {
      ...CERTIFICATES,
      description: 'The certificate, and the certificates between it and its authority, in PEM format.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      // Reads the certificate.
      complexity: { field: 1, multiplier: 1 },
      description: 'When the certificate expires.',
      resolve: ({ certificate }) => new X509Certificate(certificate).validToDate,
    }),
    privateKey: t.exposeString('privateKey', { description: 'The private key, always masked as `••••`.' }),
  }),
});

export const WebhookClientCertificateInput = builder.inputType('WebhookClientCertificateInput', {
  description: 'The certificate with which Tollgate identifies itself to a webhook’s server (mutual TLS).',
  extensions: checkedBy(clientCertificateInput),
  fields: (t) => ({
    certificate: t.string({
      required: true,
      description: 'The certificate, and the certificates between it and its authority, in PEM format.',
    }),
    privateKey: t.string({
      description:
        'The certificate’s private key in PEM format, without a passphrase. If it is omitted or masked, the stored key stays unchanged.',
    }),
  }),
});

export const WebhookHeaderInput = builder.inputType('WebhookHeaderInput', {
  description: 'A header to add to a webhook’s requests.',
  extensions: checkedBy(webhookHeaderRules),
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name of the header. Some names aren’t allowed.' }),
    value: t.string({
      required: true,
      description: 'The header’s value: visible ASCII characters. A masked value that you send back stays unchanged.',
    }),
  }),
});

export const WebhookAuthenticationInput = builder.inputType('WebhookAuthenticationInput', {
  description:
    'How to authenticate a webhook’s requests. Send the fields of the chosen type. When you change the webhook and keep the ' +
    'type, omitted fields and masked secrets that you send back stay unchanged.',
  extensions: checkedBy(AUTHENTICATION_RULES),
  fields: (t) => ({
    type: t.field({ type: AuthenticationTypeEnum, required: true, description: 'The type of authentication.' }),
    username: t.string({ description: 'The user name, without a colon. Used only with `BASIC`.' }),
    password: t.string({ description: 'The password. Used only with `BASIC`.' }),
    token: t.string({ description: 'The token. Used only with `BEARER`.' }),
    tokenUrl: t.string({
      description:
        'HTTPS URL to get access tokens from. If you change the URL, send the client secret again. Used only with `OAUTH2_CLIENT_CREDENTIALS`.',
    }),
    clientId: t.string({ description: 'The client ID. Used only with `OAUTH2_CLIENT_CREDENTIALS`.' }),
    clientSecret: t.string({ description: 'The client secret. Used only with `OAUTH2_CLIENT_CREDENTIALS`.' }),
    scope: t.string({
      description: 'The scopes to request, separated by spaces. Optional. Used only with `OAUTH2_CLIENT_CREDENTIALS`.',
    }),
  }),
});
