import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';

export const CLIENT_ID = 'tollgate-console';
const AUDIENCE = 'tollgate-api';
const ALGORITHM = 'ES256';

export type OidcProvider = {
  issuer: string;
  /** A value of `AUTH_ISSUERS` that trusts this provider. */
  authIssuers: string;
  receiver: Receiver;
  /** Sets the lifetime of tokens issued from now on. */
  setTokenLifetime(seconds: number): void;
  /** Sets the age of later sign-ins, unless the client asks for a new sign-in (`prompt=login`). */
  setSessionAge(seconds: number): void;
  /** Rejects refresh tokens from now on. */
  rejectRefresh(): void;
  close(): Promise<void>;
};

type Grant = { challenge: string; nonce: string | null; redirectUri: string; scope: string; isNew: boolean };

/**
 * Starts a small OpenID Connect provider with discovery, keys, sign-in without a prompt, and a token endpoint. It
 * requires PKCE with S256 (RFC 7636) and the request's redirect URI (RFC 6749 §4.1.3), and accepts each code and
 * refresh token only once.
 */
export async function startOidcProvider(subject: string): Promise<OidcProvider> {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM);
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: ALGORITHM, use: 'sig' };
  const receiver = await startReceiver();
  const issuer = receiver.url;
  const grants = new Map<string, Grant>();
  const refreshTokens = new Set<string>();
  let lifetimeSeconds = 3600;
  let acceptsRefresh = true;
  let sessionAgeSeconds = 0;
  let signedInAgo = 0;

  const sign = (claims: Record<string, unknown>, audience: string) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, kid: 'k1', typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(`${lifetimeSeconds}s`)
      .sign(privateKey);

  function authorize({ path }: ReceivedRequest) {
    const query = new URL(path, issuer).searchParams;
    const redirectUri = query.get('redirect_uri')!;
    const location = new URL(redirectUri);
    location.searchParams.set('state', query.get('state')!);
    if (query.get('client_id') !== CLIENT_ID || query.get('code_challenge_method') !== 'S256') {
      location.searchParams.set('error', 'invalid_request');
    } else {
      const code = randomUUID();
      const [challenge, scope] = [query.get('code_challenge')!, query.get('scope')!];
      grants.set(code, {
        challenge,
        nonce: query.get('nonce'),
        redirectUri,
        scope,
        isNew: query.get('prompt') === 'login',
      });
      location.searchParams.set('code', code);
    }
    return { statusCode: 302, headers: { location: location.href } };
  }

  async function issueTokens({ body }: ReceivedRequest) {
    const form = new URLSearchParams(body.toString());
    const nonce = redeem(form);
    if (nonce === undefined) return json({ error: 'invalid_grant' }, 400);
    const refreshToken = randomUUID();
    refreshTokens.add(refreshToken);
    return json({
      access_token: await sign({ auth_time: Math.floor(Date.now() / 1000) - signedInAgo }, AUDIENCE),
      id_token: await sign({ ...(nonce && { nonce }), email: `${subject}@example.com` }, CLIENT_ID),
      token_type: 'Bearer',
      expires_in: lifetimeSeconds,
      refresh_token: refreshToken,
    });
  }

  /** Returns the nonce for the tokens. Null if the client sent no nonce, undefined if the grant is invalid. */
  function redeem(form: URLSearchParams): string | null | undefined {
    if (form.get('client_id') !== CLIENT_ID) return undefined;
    if (form.get('grant_type') === 'refresh_token') {
      return refreshTokens.delete(form.get('refresh_token')!) && acceptsRefresh ? null : undefined;
    }
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isValid = grant && grant.challenge === challenge && grant.redirectUri === form.get('redirect_uri');
    if (isValid) signedInAgo = grant.isNew ? 0 : sessionAgeSeconds;
    return isValid ? grant.nonce : undefined;
  }

  receiver.handle((request) => {
    const { pathname } = new URL(request.path, issuer);
    if (request.method === 'OPTIONS') return { statusCode: 204, headers: CORS };
    if (pathname === '/authorize') return authorize(request);
    if (pathname === '/token') return issueTokens(request);
    if (pathname === '/jwks') return json({ keys: [jwk] });
    if (pathname === '/logout') {
      const back = new URL(request.path, issuer).searchParams.get('post_logout_redirect_uri')!;
      return { statusCode: 302, headers: { location: back } };
    }
    return json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      end_session_endpoint: `${issuer}/logout`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [ALGORITHM],
      code_challenge_methods_supported: ['S256'],
    });
  });

  return {
    issuer,
    authIssuers: JSON.stringify([{ issuer, jwksUri: `${issuer}/jwks`, audience: AUDIENCE, algorithms: [ALGORITHM] }]),
    receiver,
    setTokenLifetime: (seconds) => {
      lifetimeSeconds = seconds;
    },
    setSessionAge: (seconds) => {
      sessionAgeSeconds = seconds;
    },
    rejectRefresh: () => {
      acceptsRefresh = false;
    },
    close: () => receiver.close(),
  };
}

const CORS = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };

function json(value: unknown, statusCode = 200) {
  return { statusCode, headers: { 'content-type': 'application/json', ...CORS }, body: JSON.stringify(value) };
}
