import { parseRetryAfter } from '../../retry-after.ts';
import type { ConnectorRequest, ConnectorResponse, TokenOutcome } from '../definition.ts';
import { parseJson, reason, valueAt, vendorText } from './classify.ts';

/** For vendors that don't say how long a token lasts. No session is shorter than this. */
const DEFAULT_LIFETIME_SECONDS = 15 * 60;

/** Longer than any credential lasts, and short enough for the database. */
const MAX_CREDENTIAL_LIFETIME_SECONDS = 100 * 365 * 86_400;

/** A request to a token endpoint (RFC 6749 §4). `headers` are added to the usual ones. */
export function tokenRequest(
  url: string,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): ConnectorRequest {
  return {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json', ...headers },
    body: new URLSearchParams(parameters).toString(),
  };
}

/** Basic authentication of an OAuth client, with both values form-encoded (RFC 6749 §2.3.1). */
export function basicAuthorization(id: string, secret: string): { authorization: string } {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return { authorization: `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}` };
}

/**
 * What a token endpoint's response means (RFC 6749 §5). Only overload and outages pass by themselves. Any other error
 * stays the same until the seller changes something.
 *
 * @param options `advice` says what the seller should do if the vendor rejects the credential. `secrets` are the config's,
 *   because some vendors quote them. `credentialLifetimeField` is the response's field with the number of seconds after
 *   which the credential itself ends.
 */
export function classifyTokenResponse(
  vendor: string,
  response: ConnectorResponse,
  options: { advice: string; secrets: readonly string[]; credentialLifetimeField?: string | undefined },
): TokenOutcome {
  const { advice, secrets, credentialLifetimeField } = options;
  const { statusCode, headers, body } = response;
  const json = parseJson(body);
  const accessToken = valueAt(json, 'access_token');
  if (statusCode === 200 && typeof accessToken === 'string' && /^[\x21-\x7e]+$/.test(accessToken)) {
    const lifetimeSeconds = Number(valueAt(json, 'expires_in'));
    const refreshToken = valueAt(json, 'refresh_token');
    const credentialLifetimeSeconds = credentialLifetimeField && Number(valueAt(json, credentialLifetimeField));
    return {
      kind: 'token',
      accessToken,
      lifetimeSeconds: lifetimeSeconds > 0 ? Math.min(lifetimeSeconds, 86_400) : DEFAULT_LIFETIME_SECONDS,
      ...(typeof refreshToken === 'string' && refreshToken !== '' && { refreshToken }),
      ...(isLifetime(credentialLifetimeSeconds) && { credentialLifetimeSeconds }),
    };
  }
  const code = vendorText(valueAt(json, 'error'), secrets, 40);
  const passes = statusCode === 408 || statusCode === 429 || statusCode >= 500 || statusCode === 200;
  if (passes || code === 'temporarily_unavailable' || code === 'server_error') {
    const afterSeconds = parseRetryAfter(headers);
    const text = `${vendor} couldn't issue an access token right now (HTTP ${statusCode}).`;
    return { kind: 'retry', reason: text, ...(afterSeconds !== undefined && { afterSeconds }) };
  }
  const detail = vendorText(valueAt(json, 'error_description'), secrets, 60);
  const why = [code || `HTTP ${statusCode}`, detail].filter((text) => text !== '').join(': ');
  return { kind: 'pause', reason: reason(`${vendor} refused to issue an access token (${why}). ${advice}`) };
}

function isLifetime(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && seconds > 0 && seconds <= MAX_CREDENTIAL_LIFETIME_SECONDS;
}
