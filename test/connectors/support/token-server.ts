import { randomUUID } from 'node:crypto';
import { type ReceivedRequest, type Receiver, startReceiver, type TestResponse } from '../../support/receiver.ts';
import { json } from './vendors/vendor.ts';

export type TokenServer = Awaited<ReturnType<typeof startTokenServer>>;

/** A request for a token. */
export type Grant = { host: string; parameters: URLSearchParams; authorization: string | undefined };

/**
 * An OAuth 2.0 token endpoint that replaces refresh tokens, as Intuit and Xero do: the previous token works only until
 * the new one is used.
 */
export async function startTokenServer(options: { lifetimeSeconds?: number; onIssued?: (token: string) => void } = {}) {
  const { lifetimeSeconds = 3_600, onIssued } = options;
  const grants: Grant[] = [];
  const valid = new Set<string>();
  let refreshTokens: string[] = [];
  let isRevoked = false;

  function answer(request: Pick<ReceivedRequest, 'headers' | 'body'>): TestResponse {
    const parameters = new URLSearchParams(request.body.toString());
    const { host = '', authorization } = request.headers;
    grants.push({ host: host.split(':')[0]!, parameters, authorization });
    if (isRevoked)
      return json(400, { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' });
    const given = parameters.get('refresh_token');
    if (given !== null) {
      if (!refreshTokens.includes(given)) return json(400, { error: 'invalid_grant' });
      // Using a token invalidates the earlier ones.
      refreshTokens = [given, `refresh-${randomUUID()}`];
    }
    const token = `token-${randomUUID().replaceAll('-', '')}`;
    valid.add(token);
    onIssued?.(token);
    return json(200, {
      access_token: token,
      token_type: 'Bearer',
      expires_in: lifetimeSeconds,
      ...(given !== null && { refresh_token: refreshTokens.at(-1) }),
    });
  }

  const receiver: Receiver = await startReceiver(answer);
  return {
    url: receiver.url,
    receiver,
    grants,
    /** Responds to requests to token endpoints on a vendor's own host. */
    answer,
    /** Starts with this refresh token, as if someone had just connected the app. */
    connect(refreshToken: string): void {
      isRevoked = false;
      refreshTokens = [refreshToken];
    },
    /** Rejects everything from now on. */
    revoke(): void {
      isRevoked = true;
    },
    /** Returns whether an access token works. */
    accepts: (token: string) => valid.has(token),
    /** Invalidates all access tokens. */
    expireAll: () => valid.clear(),
    /** Returns the access tokens that work, oldest first. */
    tokens: () => [...valid],
    close: () => receiver.close(),
  };
}
