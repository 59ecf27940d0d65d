import { MAX_RETRY_AFTER_SECONDS, parseRetryAfter } from '../../retry-after.ts';
import type { ConnectorDefinition, ConnectorResponse, Outcome } from '../definition.ts';

/** Each request during a block can prolong it, so nothing is sent for at least this long. */
const MIN_BLOCKED_SECONDS = 5 * 60;

/**
 * Cloudflare's errors for requests that it doesn't let through because of their sender: its address (1006–1008),
 * country (1009), or client (1010), a rate limit (1015), or a firewall rule (1012, 1020).
 * https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/
 */
const SENDER_BLOCKED = /\berror(?: code)? ?:? ?10(?:0[6-9]|1[025]|20)\b/i;

/** A `blocked` outcome. Honors `Retry-After`, up to a day. */
export function blocked(
  service: string,
  response: ConnectorResponse,
  now?: Date,
): Extract<Outcome, { kind: 'blocked' }> {
  const asked = parseRetryAfter(response.headers, now?.getTime()) ?? 0;
  return {
    kind: 'blocked',
    reason: `${service} is blocking requests from this service's IP address (HTTP ${response.statusCode}). The event will be sent once the block has ended.`,
    afterSeconds: Math.min(Math.max(asked, MIN_BLOCKED_SECONDS), MAX_RETRY_AFTER_SECONDS),
  };
}

/**
 * What a response means if it is from Cloudflare, which many vendors use, and rejects the request because of its
 * sender: plain text (`error code: 1015`), an HTML page, or JSON with the title `Error 1015: …`. Undefined for any other
 * response, and if sellers control the type's responses, because they could block each other's connectors.
 */
export function cloudflareBlock(
  { title, sellersRespond }: Pick<ConnectorDefinition, 'title' | 'sellersRespond'>,
  response: ConnectorResponse,
  now?: Date,
): Extract<Outcome, { kind: 'blocked' }> | undefined {
  const { statusCode, body } = response;
  if (sellersRespond || (statusCode !== 403 && statusCode !== 429)) return undefined;
  // A vendor's own JSON may quote anything.
  if (/^\s*[[{]/.test(body) && !/"cloudflare_error":\s*true/.test(body)) return undefined;
  const text = body.replaceAll(/<[^<>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  return SENDER_BLOCKED.test(text) ? blocked(title, response, now) : undefined;
}
