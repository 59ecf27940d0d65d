import { parseRetryAfter } from '../../retry-after.ts';
import type { TokenOutcome } from '../credential.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { parseJson, reason, valueAt, vendorText } from './classify.ts';

/** For vendors that don't say how long a token lasts. No session is shorter than this. */
const DEFAULT_LIFETIME_SECONDS = 15 * 60;
const MAX_TOKEN_LIFETIME_SECONDS = 86_400;

/** Shorter lifetimes count as this long, so that a token URL can't require a new token for every request. */
export const MIN_LIFETIME_SECONDS = 60;

/** Tokens are sent in a header, and most servers accept no more than this. */
const MAX_TOKEN_LENGTH = 8_192;

/** Longer than the lifetime of any credential, and small enough for the database. */
const MAX_CREDENTIAL_LIFETIME_SECONDS = 100 * 365 * 86_400;

/** A request to a token endpoint (RFC 6749 §4). `headers` are added to the default ones. */
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
 * What a token endpoint's response means (RFC 6749 §5). Only overload and outages resolve on their own. Any other error
 * persists until the seller changes something.
 *
 * @param options `advice` says what the seller should do if the vendor rejects the credential. `secrets` are the
 *   config's secrets, which are masked because some vendors quote them. `credentialLifetimeField` is the response field
 *   that contains the number of seconds until the credential itself expires.
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
    if (accessToken.length > MAX_TOKEN_LENGTH) return tooLong(vendor, 'an access token', advice);
    const hasRefreshToken = typeof refreshToken === 'string' && refreshToken !== '';
    if (hasRefreshToken && refreshToken.length > MAX_TOKEN_LENGTH) return tooLong(vendor, 'a refresh token', advice);
    return {
      kind: 'token',
      accessToken,
      lifetimeSeconds: lifetimeSeconds > 0 ? clampLifetime(lifetimeSeconds) : DEFAULT_LIFETIME_SECONDS,
      ...(hasRefreshToken && { refreshToken }),
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

const clampLifetime = (seconds: number) =>
  Math.min(Math.max(seconds, MIN_LIFETIME_SECONDS), MAX_TOKEN_LIFETIME_SECONDS);

function tooLong(vendor: string, what: string, advice: string): TokenOutcome {
  return { kind: 'pause', reason: reason(`${vendor} issued ${what} of more than 8 KB. ${advice}`) };
}

function isLifetime(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && seconds > 0 && seconds <= MAX_CREDENTIAL_LIFETIME_SECONDS;
}
