import type { OauthApp } from '../../config/oauth-apps.ts';
import type { CredentialDefinition, GrantDefinition } from '../credential.ts';
import type { ConnectorRequest } from '../exchange.ts';
import { secretField, textField } from '../fields.ts';
import { basicAuthorization, classifyTokenResponse, tokenRequest } from './token-endpoint.ts';

/** The config fields for the seller's own OAuth app. */
export const clientFields = {
  clientId: textField({
    title: 'Client ID',
    description: 'The client ID of your OAuth app. Use it with the client secret instead of an access token.',
    pattern: /^[\x21-\x7e]+$/,
    hint: "Can't contain spaces or non-ASCII characters.",
    maxLength: 300,
  }).optional(),
  clientSecret: secretField({ title: 'Client secret', description: 'The client secret of your OAuth app.' }).optional(),
};

/** @param description where to get a refresh token, and whether the app needs one. */
export function refreshTokenField(description: string) {
  return secretField({ title: 'Refresh token', description }).optional();
}

/** The config field that is set when a seller connects an account. */
export function grantField() {
  return secretField({
    title: 'Connected account',
    description: 'Set when you connect an account in the console.',
  }).optional();
}

type ClientConfig = { clientId?: string | undefined; clientSecret?: string | undefined } & {
  refreshToken?: string | undefined;
  grant?: string | undefined;
};

type Endpoint = {
  /** For vendors that don't support Basic authentication. */
  sendsClientInBody?: boolean | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
};

/** Builds a token request that is authenticated with an OAuth app. */
export function appRequest(
  url: string,
  parameters: Readonly<Record<string, string>>,
  { clientId, clientSecret }: OauthApp,
  { sendsClientInBody = false, headers }: Endpoint = {},
): ConnectorRequest {
  return sendsClientInBody
    ? tokenRequest(url, { ...parameters, client_id: clientId, client_secret: clientSecret }, headers)
    : tokenRequest(url, parameters, { ...basicAuthorization(clientId, clientSecret), ...headers });
}

/** How sellers connect an account with the operator's app. `isUsed` says whether the config has no other credential. */
export function oauthGrant<Config>(
  options: Pick<GrantDefinition<Config>, 'vendor' | 'title' | 'isUsed' | 'authorizationUrl'> &
    Endpoint & { tokenUrl: (config: Config) => string },
): GrantDefinition<Config> {
  const { tokenUrl, sendsClientInBody, headers, ...grant } = options;
  return {
    ...grant,
    buildExchange: (config, { app, code, verifier, redirectUri }) =>
      appRequest(
        tokenUrl(config),
        { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
        app,
        { sendsClientInBody, headers },
      ),
  };
}

/** Adds parameters to the URL where a seller authorizes access. */
export function authorizationUrl(url: string, parameters: Readonly<Record<string, string>>): string {
  return `${url}?${new URLSearchParams(parameters)}`;
}

/**
 * The reason if a vendor rejects an access token. With an OAuth app, the token was newly issued, so entering another
 * one wouldn't help.
 *
 * @param lifetime how long tokens work, such as `an hour`.
 * @param advice how to connect the app again.
 */
export function rejectedToken(vendor: string, { clientId }: ClientConfig, lifetime: string, advice: string): string {
  return clientId === undefined
    ? `${vendor} rejected the access token. Tokens expire after ${lifetime}: save a new one.`
    : `${vendor} rejected a new access token from your app. ${advice}`;
}

/**
 * Gets tokens for an OAuth app with a refresh token (RFC 6749 §6) or, without one, with the client's own credentials
 * (§4.4).
 *
 * @param options `advice` says how to connect again. `credentialLifetime` is for vendors that report when the refresh
 *   token and its successors expire: the header that requests this information, and the response field that contains
 *   the number of seconds. `authorizationUrl` is where sellers authorize the operator's app.
 */
export function oauthClient<Config extends ClientConfig>(
  options: {
    vendor: string;
    tokenUrl: (config: Config) => string;
    advice: string;
    needsRefreshToken?: boolean;
    credentialLifetime?: { header: Readonly<Record<string, string>>; field: string };
    grant: Pick<GrantDefinition<Config>, 'vendor' | 'title' | 'authorizationUrl'>;
  } & Pick<Endpoint, 'sendsClientInBody'>,
): CredentialDefinition<Config> {
  const { vendor, tokenUrl, advice, needsRefreshToken = false, sendsClientInBody, credentialLifetime } = options;
  const endpoint = { sendsClientInBody, headers: credentialLifetime?.header };
  const hasOwn = ({ clientId, clientSecret, refreshToken }: Config) =>
    clientId !== undefined && clientSecret !== undefined && (refreshToken !== undefined || !needsRefreshToken);
  const isGranted = (config: Config) => !hasOwn(config) && config.grant !== undefined;
  return {
    fields: ['clientId', 'clientSecret', 'refreshToken', 'grant'],
    isIn: (config) => hasOwn(config) || isGranted(config),
    build(config, { app, refreshToken = app ? config.grant : config.refreshToken }) {
      const { clientId = '', clientSecret = '' } = config;
      const parameters: Record<string, string> =
        refreshToken === undefined
          ? { grant_type: 'client_credentials' }
          : { grant_type: 'refresh_token', refresh_token: refreshToken };
      return appRequest(tokenUrl(config), parameters, app ?? { clientId, clientSecret }, endpoint);
    },
    classify(response, config, { refreshToken: latest, app } = {}) {
      const { clientId, clientSecret, refreshToken, grant } = config;
      const values = [clientId, clientSecret, refreshToken, grant, latest, app?.clientId, app?.clientSecret];
      const secrets = values.filter((value) => value !== undefined);
      return classifyTokenResponse(vendor, response, {
        advice: isGranted(config) ? CONNECT_AGAIN : advice,
        secrets,
        credentialLifetimeField: credentialLifetime?.field,
      });
    },
    grant: oauthGrant({ ...options.grant, isUsed: isGranted, tokenUrl, ...endpoint }),
  };
}

/** What to do if a vendor no longer accepts a grant. */
export const CONNECT_AGAIN = 'Connect the account again in the console.';
