import type { IncomingHttpHeaders } from 'node:http';
import { type EgressRequest, sentHeaders } from '../../egress/exchange.ts';
import { MASK } from '../../secrets/mask.ts';
import { scrubberOf } from '../../secrets/redact.ts';
import type { RecordedRequest } from '../model/claimed-delivery.ts';

/** Names of headers that contain credentials. Their values are always masked. */
const AUTHENTICATES = /authorization|cookie|signature|secret|token|password|api-?key|app-?key|access-?key/;
const MAX_HEADERS = 64;
const MAX_VALUE_LENGTH = 1_024;
const MAX_HEADERS_LENGTH = 4_096;

export function isAuthenticating(headerName: string): boolean {
  return AUTHENTICATES.test(headerName);
}

/** A request as it is stored, with authentication headers and secrets in the URL and other headers masked. */
export function recordedRequest(
  request: Pick<EgressRequest, 'method' | 'url' | 'headers'>,
  secrets: readonly string[],
  accountId: string,
): RecordedRequest {
  const scrub = scrubberOf(secrets, accountId);
  const headers = Object.entries(sentHeaders(request)).map(([name, value]) => [
    name,
    isAuthenticating(name) ? MASK : scrub(value),
  ]);
  return { method: request.method, url: scrub(request.url), headers: Object.fromEntries(headers) };
}

/**
 * A response's headers as they are stored: without cookies, with secrets masked, and each up to 1,024 characters.
 * Headers beyond about 4 KB in total are left out.
 */
export function recordedHeaders(
  headers: IncomingHttpHeaders,
  secrets: readonly string[],
  accountId: string,
): Record<string, string> {
  const scrub = scrubberFor(headers, secrets, accountId);
  const kept: Record<string, string> = {};
  let count = 0;
  let length = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith('set-cookie')) continue;
    const text = isAuthenticating(name) ? MASK : cut(scrub(String(value)));
    length += name.length + text.length;
    if (count++ === MAX_HEADERS || length > MAX_HEADERS_LENGTH) break;
    kept[name] = text;
  }
  return kept;
}

/** Searches for all values in one pass first, because few responses contain anything to mask. */
function scrubberFor(
  headers: IncomingHttpHeaders,
  secrets: readonly string[],
  accountId: string,
): (text: string) => string {
  const scrub = scrubberOf(secrets, accountId);
  const all = Object.values(headers).join('\n');
  return scrub(all) === all ? (text) => text : scrub;
}

function cut(text: string): string {
  return text.replaceAll('\0', '').slice(0, MAX_VALUE_LENGTH).toWellFormed();
}
