import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors.ts';

export type Headers = Record<string, string | string[]>;

/**
 * Request headers that every upstream gets: content, negotiation, conditions, and tracing. None of them tells an
 * upstream who is calling, because anyone can send them.
 */
const REQUEST_HEADERS = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'baggage',
  'cache-control',
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'dnt',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'prefer',
  'priority',
  'range',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-correlation-id',
  'x-request-id',
  'x-requested-with',
]);

/** About half of what a response's headers may take. */
const MAX_PASSED_BYTES = 8 * 1024;

/** Response headers that are forwarded in addition to `x-…`. */
const RESPONSE_HEADERS = new Set([
  'accept-ranges',
  'age',
  'allow',
  'cache-control',
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'content-type',
  'date',
  'deprecation',
  'etag',
  'expires',
  'last-modified',
  'link',
  'mcp-protocol-version',
  'mcp-session-id',
  'preference-applied',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'server-timing',
  'sunset',
  'vary',
]);

/**
 * These `x-…` response headers aren't forwarded: payments and credentials, headers that proxies act on, and headers
 * that browsers apply to the whole host.
 */
const WITHHELD_X_HEADERS =
  /^x-(?:payment|api-?key|auth|access-token|csrf|xsrf|amz|forwarded|real-ip|client-ip|cluster-client|originating|remote|true-client|original|rewrite|http-method|method-override|http-host|host|proxy|envoy|accel|sendfile|litespeed|lighttpd|reproxy|middleware|nextjs|vercel|request-id|powered-by|frame-options|content-type-options|xss-protection|robots-tag|permitted-cross|dns-prefetch|webkit-csp|content-security-policy|tollgate)/;

/** Headers named in `Connection` are only for this hop (RFC 9110 §7.6.1). */
function perHop(headers: IncomingHttpHeaders): Set<string> {
  const named = String(headers.connection ?? '').split(',');
  return new Set(named.map((name) => name.trim().toLowerCase()).filter(Boolean));
}

function pick(headers: IncomingHttpHeaders, isAllowed: (name: string) => boolean): Headers {
  const hop = perHop(headers);
  const picked: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hop.has(name) && isAllowed(name)) picked[name] = value;
  }
  return picked;
}

/** Programs that turn names into variables read `x-accel_redirect` as `x-accel-redirect`. */
function isPassedResponseHeader(name: string): boolean {
  const isPassedX = name.startsWith('x-') && !WITHHELD_X_HEADERS.test(name.replace(/[^a-z0-9]/g, '-'));
  return RESPONSE_HEADERS.has(name) || isPassedX;
}

/** The size of headers as clients count it: names and values. */
export function bytesOf(headers: Headers): number {
  const lines = Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => name + value));
  return lines.join('').length;
}

/** The request headers that come from the caller. */
function passedRequestHeaders(headers: IncomingHttpHeaders, listed: readonly string[]): Headers {
  return pick(headers, (name) => REQUEST_HEADERS.has(name) || listed.includes(name));
}

/**
 * Some APIs repeat request headers. Without this limit, a buyer could make their response headers too large to be
 * passed on, and get the work done without paying for it.
 *
 * @throws AppError `HEADERS_TOO_LARGE` if the upstream would get too many bytes of the caller's headers.
 */
export function checkHeaderSize(headers: IncomingHttpHeaders, listed: readonly string[]): void {
  if (bytesOf(passedRequestHeaders(headers, listed)) <= MAX_PASSED_BYTES) return;
  const detail = `The headers that the API would get total more than ${MAX_PASSED_BYTES / 1024} KiB. Shorten them. You weren't charged.`;
  throw new AppError('HEADERS_TOO_LARGE', { detail });
}

/** Where a request came from, as reported to upstreams. */
type RequestOrigin = { clientAddress: string; host: string; protocol: string };

/**
 * The request headers that the upstream gets: the ones that every upstream gets, and the ones that the endpoint lists.
 * All others are removed, because upstreams may trust headers that only their own proxy should set, such as
 * `X-Webauth-User`. `X-Forwarded-*` contains what this gateway knows instead of what the caller sent.
 *
 * @param listed the endpoint's `forwardedHeaders`.
 */
export function requestHeaders(
  headers: IncomingHttpHeaders,
  listed: readonly string[],
  origin: RequestOrigin,
): Headers {
  return {
    // Otherwise, an upstream might choose an encoding that the caller can't read.
    'accept-encoding': 'identity',
    ...passedRequestHeaders(headers, listed),
    'x-forwarded-for': origin.clientAddress,
    'x-forwarded-host': origin.host,
    'x-forwarded-proto': origin.protocol,
  };
}

/**
 * The response headers that the buyer gets. Cookies and headers that apply to the whole host are removed, because all
 * sellers share a host. The body gets a new content length.
 */
export function responseHeaders(headers: IncomingHttpHeaders): Headers {
  const picked = pick(headers, isPassedResponseHeader);
  const cacheControl = picked['cache-control'];
  if (cacheControl !== undefined) picked['cache-control'] = privately(String(cacheControl));
  return picked;
}

/** Keeps paid responses out of shared caches. */
function privately(cacheControl: string): string {
  const directives = cacheControl
    // Commas in quotes don't separate directives, and an unclosed quote would swallow what follows.
    .replace(/="[^"]*"?/g, '')
    .replaceAll('"', '')
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => directive && !/^(?:public|private|s-maxage|stale-while|proxy-revalidate)/i.test(directive));
  return [...directives, 'private'].join(', ');
}
