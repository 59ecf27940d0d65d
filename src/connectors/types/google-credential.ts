import { createPrivateKey } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import { z } from 'zod';
import type { OauthApp } from '../../config/oauth-apps.ts';
import { isTooLarge, LARGEST_RSA_KEY } from '../../secrets/private-key.ts';
import type { CredentialDefinition } from '../credential.ts';
import type { ConnectorRequest } from '../exchange.ts';
import { jsonSecretField } from '../fields.ts';
import { parseJson } from '../shared/classify.ts';
import { appRequest, authorizationUrl, CONNECT_AGAIN, oauthGrant } from '../shared/oauth-client.ts';
import { classifyTokenResponse, tokenRequest } from '../shared/token-endpoint.ts';

/** The key file's own `token_uri` is ignored, because it could point to any host. */
const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const LIFETIME_SECONDS = 3600;

const keyFile = z.object({
  type: z.literal('service_account'),
  client_email: z.string().regex(/^[^\s@]+@[^\s@]+$/),
  private_key_id: z.string().optional(),
  private_key: z.string().refine(isRsaKey),
});
type KeyFile = z.infer<typeof keyFile>;

function isRsaKey(pem: string): boolean {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' && !isTooLarge(key);
  } catch {
    return false;
  }
}

const readKey = (text: string): KeyFile | undefined => keyFile.safeParse(parseJson(text)).data;

/** The field for a service account's key file. */
export function serviceAccountKeyField(access: string) {
  return jsonSecretField({
    title: 'Service account key',
    description: `The JSON key file of a service account that can ${access}. Unlike an access token, the key doesn't expire.`,
    isValid: (text) => readKey(text) !== undefined,
    hint: `Must be the content of a service account’s JSON key file, with an RSA key. The key can have ${LARGEST_RSA_KEY}.`,
  }).optional();
}

type GoogleConfig = { serviceAccountKey?: string | undefined; grant?: string | undefined };

/**
 * Tokens for a service account (https://developers.google.com/identity/protocols/oauth2/service-account#httprest), or for an
 * account that the seller connected (https://developers.google.com/identity/protocols/oauth2/web-server).
 */
export function googleCredential<Config extends GoogleConfig>(scope: string): CredentialDefinition<Config> {
  const isGranted = ({ serviceAccountKey, grant }: GoogleConfig) =>
    serviceAccountKey === undefined && grant !== undefined;

  /** Google issues a refresh token only for `offline` access, and a second one only if the person consents again. */
  const authorization = authorizationUrl('https://accounts.google.com/o/oauth2/v2/auth', {
    scope,
    access_type: 'offline',
    prompt: 'consent',
  });

  function refresh(refreshToken: string, app: OauthApp): ConnectorRequest {
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken };
    return appRequest(TOKEN_URL, parameters, app, { sendsClientInBody: true });
  }

  return {
    fields: ['serviceAccountKey', 'grant'],
    isIn: ({ serviceAccountKey, grant }) => serviceAccountKey !== undefined || grant !== undefined,
    async build({ serviceAccountKey = '', grant = '' }, { now, app, refreshToken = grant }) {
      if (app) return refresh(refreshToken, app);
      const key = readKey(serviceAccountKey)!;
      const issuedAt = Math.floor(now.getTime() / 1000);
      const assertion = await new SignJWT({ scope })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(key.private_key_id && { kid: key.private_key_id }) })
        .setIssuer(key.client_email)
        .setAudience(TOKEN_URL)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + LIFETIME_SECONDS)
        .sign(await importPKCS8(key.private_key, 'RS256'));
      return tokenRequest(TOKEN_URL, { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    },
    classify(response, { serviceAccountKey, grant }, { refreshToken, app } = {}) {
      const values = [serviceAccountKey, grant, refreshToken, app?.clientId, app?.clientSecret];
      const secrets = values.filter((value) => value !== undefined);
      const advice = app ? CONNECT_AGAIN : 'Create a new key for the service account, and save it.';
      return classifyTokenResponse('Google', response, { advice, secrets });
    },
    grant: oauthGrant({
      vendor: 'google',
      title: 'Google',
      isUsed: isGranted,
      sendsClientInBody: true,
      authorizationUrl: () => authorization,
      tokenUrl: () => TOKEN_URL,
    }),
  };
}
