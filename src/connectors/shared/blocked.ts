import { MAX_RETRY_AFTER_SECONDS, parseRetryAfter } from '../../retry-after.ts';
import type { ConnectorDefinition, Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';

/** Each request during a block can prolong it, so nothing is sent for at least this long. */
const MIN_BLOCKED_SECONDS = 5 * 60;

/**
 * Cloudflare's errors for requests that it doesn't let through because of their sender: its address (1006–1008),
 * country (1009), or client (1010), or a rate limit (1015).
 * https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/
 */
const SENDER_BLOCKED = /\berror(?: code)? ?:? ?10(?:0[6-9]|1[05])\b/i;
/** Cloudflare's errors for a firewall rule. A rule can be about anything in a request, so also about its content. */
const RULE_MATCHED = /\berror(?: code)? ?:? ?10(?:12|20)\b/i;

type Refusal = Extract<Outcome, { kind: 'blocked' | 'retry' }>;

/** A `blocked` outcome. Honors `Retry-After`, up to a day. */
export function blocked(service: string, response: ConnectorResponse, now?: Date): Refusal {
  const asked = parseRetryAfter(response.headers, now?.getTime()) ?? 0;
  return {
    kind: 'blocked',
    reason: `${service} is blocking requests from this service's IP address (HTTP ${response.statusCode}). The event will be sent once the block has ended.`,
    afterSeconds: Math.min(Math.max(asked, MIN_BLOCKED_SECONDS), MAX_RETRY_AFTER_SECONDS),
  };
}

/**
 * A `retry` outcome for a request that a firewall refused, possibly because of its content. It concerns only this
 * delivery. Otherwise, one seller's content could hold back the connectors of all others.
 */
export function refusedByFirewall(service: string, { statusCode }: ConnectorResponse): Refusal {
  const reason = `${service}'s firewall refused this request (HTTP ${statusCode}).`;
  return { kind: 'retry', reason, afterSeconds: MIN_BLOCKED_SECONDS };
}

/**
 * What a response means if it is from Cloudflare, which many vendors use, and refuses the request because of its
 * sender or a firewall rule: plain text (`error code: 1015`), an HTML page, or JSON with the title `Error 1015: …`. Undefined for any other
 * response, and if sellers control the type's responses, because they could block each other's connectors.
 */
export function cloudflareRefusal(
  { title, sellersRespond }: Pick<ConnectorDefinition, 'title' | 'sellersRespond'>,
  response: ConnectorResponse,
  now?: Date,
): Refusal | undefined {
  const { statusCode, body } = response;
  if (sellersRespond || (statusCode !== 403 && statusCode !== 429)) return undefined;
  // A vendor's own JSON may quote anything.
  if (/^\s*[[{]/.test(body) && !/"cloudflare_error":\s*true/.test(body)) return undefined;
  const text = body.replaceAll(/<[^<>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  if (SENDER_BLOCKED.test(text)) return blocked(title, response, now);
  return RULE_MATCHED.test(text) ? refusedByFirewall(title, response) : undefined;
}
