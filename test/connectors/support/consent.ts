import { createHash, randomUUID } from 'node:crypto';
import type { ReceivedRequest, TestResponse } from '../../support/receiver.ts';
import { json } from './vendors/vendor.ts';

type Code = { redirectUri: string; challenge: string; clientId: string };
export type Consent = ReturnType<typeof createConsent>;

/**
 * A vendor's authorization server (RFC 6749 §4.1 with RFC 7636): a person gives consent, and the app exchanges the
 * code. Only one app is accepted. It can send its credentials with Basic authentication or in the body.
 */
export function createConsent(options: {
  app: { clientId: string; clientSecret: string };
  redirectUri: string;
  /** Called with each access token. */
  onIssued: (accessToken: string) => void;
}) {
  const { app, redirectUri, onIssued } = options;
  const codes = new Map<string, Code>();
  const refreshTokens = new Set<string>();
  const issued: string[] = [];
  let nextResponse: TestResponse | undefined;

  function issue(kind: string): string {
    const token = `${kind}-${randomUUID().replaceAll('-', '')}`;
    issued.push(token);
    return token;
  }

  function isApp({ headers }: Pick<ReceivedRequest, 'headers'>, parameters: URLSearchParams): boolean {
    const inBody = `${parameters.get('client_id')}:${parameters.get('client_secret')}`;
    const inHeader = Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64').toString();
    return [inBody, inHeader].includes(`${app.clientId}:${app.clientSecret}`);
  }

  function tokensFor(parameters: URLSearchParams): TestResponse {
    const refresh = parameters.get('refresh_token') ?? '';
    if (parameters.get('grant_type') === 'refresh_token') {
      if (!refreshTokens.has(refresh)) return json(400, { error: 'invalid_grant' });
      const accessToken = issue('access');
      onIssued(accessToken);
      return json(200, { access_token: accessToken, expires_in: 3_600, token_type: 'Bearer' });
    }
    const code = codes.get(parameters.get('code') ?? '');
    codes.delete(parameters.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(parameters.get('code_verifier') ?? '')
      .digest('base64url');
    if (!code || code.challenge !== challenge || code.redirectUri !== parameters.get('redirect_uri'))
      return json(400, { error: 'invalid_grant' });
    const refreshToken = issue('refresh');
    refreshTokens.add(refreshToken);
    return json(200, { access_token: issue('first'), expires_in: 3_600, refresh_token: refreshToken });
  }

  return {
    /** Every token that was issued. */
    issued,
    /** Gives consent at this URL, as a person would in a browser. Returns what the app receives. */
    agree(url: string): { code: string; state: string } {
      const parameters = new URL(url).searchParams;
      const get = (name: string) => parameters.get(name) ?? '';
      if (get('client_id') !== app.clientId || get('redirect_uri') !== redirectUri || get('response_type') !== 'code')
        throw new Error(`This isn't a registered app: ${url}`);
      if (get('code_challenge_method') !== 'S256' || get('code_challenge').length !== 43 || get('state').length < 32)
        throw new Error(`This request isn't protected: ${url}`);
      const code = `code-${randomUUID()}`;
      codes.set(code, { redirectUri: get('redirect_uri'), challenge: get('code_challenge'), clientId: app.clientId });
      return { code, state: get('state') };
    },
    /** Sends this response to the next token request instead. */
    respondNext(answer: TestResponse): void {
      nextResponse = answer;
    },
    /** Revokes all refresh tokens. */
    revoke: (): void => refreshTokens.clear(),
    /** The token endpoint. */
    answer(request: Pick<ReceivedRequest, 'headers' | 'body'>): TestResponse {
      const answer = nextResponse;
      nextResponse = undefined;
      if (answer) return answer;
      const parameters = new URLSearchParams(request.body.toString());
      return isApp(request, parameters) ? tokensFor(parameters) : json(401, { error: 'invalid_client' });
    },
  };
}
