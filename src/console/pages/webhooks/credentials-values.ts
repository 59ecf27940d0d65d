import type { WebhookAuthenticationInput, WebhookAuthenticationType } from '../../../generated/console/webhooks.ts';
import { type HeaderRow, headerRows, keptHeaders } from '../../parts/header-values.ts';
import type { NeededAgain } from '../../parts/needed-again.tsx';
import type { WebhookRow } from './rows.ts';

type FieldName = Exclude<keyof WebhookAuthenticationInput, 'type'>;
type AuthenticationField = {
  name: FieldName;
  label: string;
  description?: string;
  isSecret?: boolean;
  isOptional?: boolean;
};

/** The form values for a webhook's custom headers, authentication, and certificates. Stored secrets are masked. */
export type CredentialsValues = {
  headers: HeaderRow[];
  authentication: { type: WebhookAuthenticationType | 'NONE' } & Record<FieldName, string>;
  certificateAuthority: string;
  clientCertificate: { certificate: string; privateKey: string };
};

export const AUTHENTICATION_TYPES: readonly { value: WebhookAuthenticationType | 'NONE'; label: string }[] = [
  { value: 'NONE', label: 'Signature only' },
  { value: 'BASIC', label: 'User name and password (Basic)' },
  { value: 'BEARER', label: 'Bearer token' },
  { value: 'OAUTH2_CLIENT_CREDENTIALS', label: 'OAuth 2.0 client credentials' },
];

/** The fields of each type of authentication, in display order. */
export const AUTHENTICATION_FIELDS: Readonly<
  Record<WebhookAuthenticationType | 'NONE', readonly AuthenticationField[]>
> = {
  NONE: [],
  BASIC: [
    { name: 'username', label: 'User name' },
    { name: 'password', label: 'Password', isSecret: true },
  ],
  BEARER: [{ name: 'token', label: 'Token', isSecret: true }],
  OAUTH2_CLIENT_CREDENTIALS: [
    { name: 'tokenUrl', label: 'Token URL', description: 'HTTPS URL that issues access tokens.' },
    { name: 'clientId', label: 'Client ID' },
    { name: 'clientSecret', label: 'Client secret', isSecret: true },
    { name: 'scope', label: 'Scope', description: 'Optional. Separate scopes with spaces.', isOptional: true },
  ],
};

const EMPTY: Record<FieldName, string> = {
  username: '',
  password: '',
  token: '',
  tokenUrl: '',
  clientId: '',
  clientSecret: '',
  scope: '',
};

export function credentialsValues(webhook: WebhookRow | undefined): CredentialsValues {
  const { headers = [], authentication, certificateAuthority, clientCertificate } = webhook ?? {};
  const stored = Object.entries(authentication ?? {}).filter(([, value]) => value !== null);
  return {
    headers: headerRows(headers),
    authentication: { type: 'NONE', ...EMPTY, ...Object.fromEntries(stored) },
    certificateAuthority: certificateAuthority ?? '',
    clientCertificate: {
      certificate: clientCertificate?.certificate ?? '',
      privateKey: clientCertificate?.privateKey ?? '',
    },
  };
}

/** The values that changed, as the API expects them. */
export function credentialsInput(values: CredentialsValues, before: CredentialsValues) {
  const isChanged = (name: keyof CredentialsValues) => JSON.stringify(values[name]) !== JSON.stringify(before[name]);
  return {
    ...(isChanged('headers') && { headers: values.headers.map(({ name, value }) => ({ name, value })) }),
    ...(isChanged('authentication') && { authentication: authenticationInput(values.authentication) }),
    ...(isChanged('certificateAuthority') && {
      certificateAuthority: values.certificateAuthority.trim() === '' ? null : values.certificateAuthority,
    }),
    ...(isChanged('clientCertificate') && {
      clientCertificate: certificateInput(values.clientCertificate, before.clientCertificate),
    }),
  };
}

function authenticationInput({
  type,
  ...fields
}: CredentialsValues['authentication']): WebhookAuthenticationInput | null {
  if (type === 'NONE') return null;
  const chosen = AUTHENTICATION_FIELDS[type].map(({ name }) => [name, fields[name] === '' ? null : fields[name]]);
  return { type, ...Object.fromEntries(chosen) };
}

/** Without a certificate, its stored key is removed too. A new key without a certificate is a mistake, and gets an error. */
function certificateInput(
  { certificate, privateKey }: CredentialsValues['clientCertificate'],
  before: CredentialsValues['clientCertificate'],
) {
  const isEmpty = certificate.trim() === '' && (privateKey.trim() === '' || privateKey === before.privateKey);
  return isEmpty ? null : { certificate, privateKey: privateKey || null };
}

/** The secrets that must be entered again after an address changes. */
export function secretsNeededAgain(
  values: CredentialsValues & { url: string },
  before: CredentialsValues & { url: string },
): NeededAgain[] {
  const isMoved = values.url !== before.url;
  const { type } = values.authentication;
  const isTokenMoved = values.authentication.tokenUrl !== before.authentication.tokenUrl;
  const headers = isMoved ? keptHeaders('headers', values.headers, before.headers) : [];
  const fields = AUTHENTICATION_FIELDS[type].filter(
    ({ name, isSecret }) =>
      isSecret &&
      (isMoved || isTokenMoved) &&
      type === before.authentication.type &&
      values.authentication[name] === before.authentication[name],
  );
  const { certificate, privateKey } = values.clientCertificate;
  const isKeyKept =
    isMoved && certificate !== '' && privateKey !== '' && privateKey === before.clientCertificate.privateKey;
  return [
    ...headers,
    ...fields.map(({ name, label }) => ({ path: `authentication.${name}`, title: label })),
    ...(isKeyKept ? [{ path: 'clientCertificate.privateKey', title: 'Private key' }] : []),
  ];
}
