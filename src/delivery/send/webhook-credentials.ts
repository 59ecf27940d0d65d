import { createHash } from 'node:crypto';
import { basicAuthorization, classifyTokenResponse, tokenRequest } from '../../connectors/shared/token-endpoint.ts';
import type { TlsIdentity } from '../../egress/tls-identity.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import type { TokenSource } from './access-tokens.ts';

export type WebhookHeader = { name: string; value: string };
export type WebhookAuthentication =
  | { type: 'BASIC'; username: string; password: string }
  | { type: 'BEARER'; token: string }
  | OAuthClient;
export type OAuthClient = {
  type: 'OAUTH2_CLIENT_CREDENTIALS';
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string | undefined;
};

/** In PEM format. If there is an authority, only that authority is trusted for this webhook. */
export type WebhookTls = {
  clientCertificate?: { certificate: string; privateKey: string };
  certificateAuthority?: string;
};

/** A webhook's custom headers and authentication, in full. Stored encrypted, as JSON. */
export type WebhookCredentials = {
  headers: readonly WebhookHeader[];
  authentication: WebhookAuthentication | null;
  /** Missing in credentials that were stored by earlier versions. */
  tls?: WebhookTls;
};

/** The encrypted content: the credentials, and the only URL that they may be sent to, unless an earlier version stored it. */
export type SealedWebhookCredentials = WebhookCredentials & { url?: string };

/** The fields of `authentication` that are secret. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set(['password', 'token', 'clientSecret']);

/** Header values shorter than this also occur in harmless text, so they aren't masked in responses. */
const MIN_HIDDEN_LENGTH = 6;
const ADVICE = 'Update the webhook with a working OAuth client.';

/** The headers to add to requests, with lowercase names, except an OAuth client's access token. */
export function credentialHeaders({ headers, authentication }: WebhookCredentials): Record<string, string> {
  const own = Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
  if (authentication?.type === 'BEARER') return { ...own, ...bearerHeader(authentication.token) };
  if (authentication?.type !== 'BASIC') return own;
  return { ...own, authorization: `Basic ${encodedUser(authentication)}` };
}

/** RFC 7617 §2.1: in UTF-8. */
function encodedUser({ username, password }: Extract<WebhookAuthentication, { type: 'BASIC' }>): string {
  return Buffer.from(`${username}:${password}`, 'utf8').toString('base64');
}

export function bearerHeader(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** How to connect to the webhook's server, or undefined for the default. */
export function tlsIdentityOf({ tls = {} }: WebhookCredentials): TlsIdentity | undefined {
  const { clientCertificate, certificateAuthority } = tls;
  if (!clientCertificate && !certificateAuthority) return undefined;
  const id = createHash('sha256').update(JSON.stringify(tls)).digest('base64');
  return { id, ...clientCertificate, ...(certificateAuthority && { certificateAuthority }) };
}

/**
 * A webhook's credentials in full.
 *
 * @throws Error if the webhook's URL was changed without them, for example, by someone with access to the database. The
 *   message contains no secret.
 */
export function readSealedCredentials(opened: string, webhook: { id: string; url: string }): WebhookCredentials {
  const { url = webhook.url, ...credentials } = JSON.parse(opened) as SealedWebhookCredentials;
  if (url === webhook.url) return credentials;
  throw new Error(`The headers and authentication of ${webhook.id} were stored for a different URL.`);
}

/** The values to mask in responses. */
export function hiddenValues({ headers, authentication }: WebhookCredentials): string[] {
  const values = headers.map(({ value }) => value).filter(({ length }) => length >= MIN_HIDDEN_LENGTH);
  return [...values, ...(authentication ? secretsIn(authentication) : [])];
}

function secretsIn(authentication: WebhookAuthentication): string[] {
  const secrets = Object.entries(authentication).filter(([name]) => SECRET_FIELDS.has(name));
  const urls = 'tokenUrl' in authentication ? secretUrls(authentication.tokenUrl) : [];
  // A short password alone can't be found in base64, because most of its characters are encoded together with others.
  const encoded = authentication.type === 'BASIC' ? [encodedUser(authentication)] : [];
  return [...secrets.map(([, value]) => String(value)), ...encoded, ...urls];
}

/** The URL if it has parts that are masked. */
export function secretUrls(url: string): string[] {
  return maskUrl(url) === url ? [] : [url];
}

/** How an OAuth client gets access tokens: with the client credentials grant (RFC 6749 §4.4). */
export function tokenSourceOf(client: OAuthClient): TokenSource {
  const { tokenUrl, clientId, clientSecret, scope } = client;
  const parameters = { grant_type: 'client_credentials', ...(scope !== undefined && { scope }) };
  return {
    build: () => tokenRequest(tokenUrl, parameters, basicAuthorization(clientId, clientSecret)),
    classify(response) {
      const outcome = classifyTokenResponse('The token URL', response, { advice: ADVICE, secrets: secretsIn(client) });
      if (outcome.kind !== 'token') return outcome;
      const { kind, accessToken, lifetimeSeconds } = outcome;
      return { kind, accessToken, lifetimeSeconds };
    },
  };
}
