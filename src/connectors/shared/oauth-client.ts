import type { CredentialDefinition } from '../definition.ts';
import { secretField, textField } from '../fields.ts';
import { basicAuthorization, classifyTokenResponse, tokenRequest } from './token-endpoint.ts';

/** The config fields of an OAuth app of the seller's own. */
export const clientFields = {
  clientId: textField({
    title: 'Client ID',
    description: 'The client ID of your OAuth app, to be used with the client secret instead of an access token.',
    pattern: /^[\x21-\x7e]+$/,
    hint: "Can't contain spaces or non-ASCII characters.",
    maxLength: 300,
  }).optional(),
  clientSecret: secretField({ title: 'Client secret', description: 'The client secret of your OAuth app.' }).optional(),
};

/** @param description where to get one, and whether the app needs it. */
export function refreshTokenField(description: string) {
  return secretField({ title: 'Refresh token', description }).optional();
}

type ClientConfig = { clientId?: string | undefined; clientSecret?: string | undefined } & {
  refreshToken?: string | undefined;
};

/**
 * Tokens for an OAuth app: with a refresh token (RFC 6749 §6), or else with the client's own credentials (§4.4).
 *
 * @param options `advice` says how to connect again. `sendsClientInBody` is for vendors that don't support Basic
 *   authentication. `credentialLifetime` is for vendors that say when the refresh token and its successors end: the header
 *   that asks for it, and the response's field with the number of seconds.
 */
export function oauthClient<Config extends ClientConfig>(options: {
  vendor: string;
  tokenUrl: (config: Config) => string;
  advice: string;
  needsRefreshToken?: boolean;
  sendsClientInBody?: boolean;
  credentialLifetime?: { header: Readonly<Record<string, string>>; field: string };
}): CredentialDefinition<Config> {
  const {
    vendor,
    tokenUrl,
    advice,
    needsRefreshToken = false,
    sendsClientInBody = false,
    credentialLifetime,
  } = options;
  return {
    fields: ['clientId', 'clientSecret', 'refreshToken'],
    isIn: ({ clientId, clientSecret, refreshToken }) =>
      clientId !== undefined && clientSecret !== undefined && (refreshToken !== undefined || !needsRefreshToken),
    build(config, { refreshToken = config.refreshToken }) {
      const { clientId = '', clientSecret = '' } = config;
      const grant: Record<string, string> =
        refreshToken === undefined
          ? { grant_type: 'client_credentials' }
          : { grant_type: 'refresh_token', refresh_token: refreshToken };
      return sendsClientInBody
        ? tokenRequest(tokenUrl(config), { ...grant, client_id: clientId, client_secret: clientSecret })
        : tokenRequest(tokenUrl(config), grant, {
            ...basicAuthorization(clientId, clientSecret),
            ...credentialLifetime?.header,
          });
    },
    classify(response, { clientId, clientSecret, refreshToken }) {
      const secrets = [clientId, clientSecret, refreshToken].filter((value) => value !== undefined);
      return classifyTokenResponse(vendor, response, {
        ...{ advice, secrets },
        credentialLifetimeField: credentialLifetime?.field,
      });
    },
  };
}
