import type { IncomingHttpHeaders } from 'node:http';

export type Headers = Record<string, string | string[]>;

/** Request headers that are forwarded in addition to `x-…`: content, negotiation, conditions, and tracing. */
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
  'mcp-protocol-version',
  'mcp-session-id',
  'prefer',
  'priority',
  'range',
  'traceparent',
  'tracestate',
  'user-agent',
]);

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
 * These `x-…` headers aren't forwarded: payments and credentials, headers that proxies set and servers trust, headers
 * that would make the upstream see a different request, and headers that browsers apply to the whole host.
 */
const WITHHELD_X_HEADERS =
  /^x-(?:payment|api-?key|auth|access-token|csrf|xsrf|amz|forwarded|real-ip|client-ip|cluster-client|originating|remote|true-client|original|rewrite|http-method|method-override|http-host|host|proxy|envoy|accel|sendfile|litespeed|lighttpd|reproxy|middleware|nextjs|vercel|request-id|powered-by|frame-options|content-type-options|xss-protection|robots-tag|permitted-cross|dns-prefetch|webkit-csp|content-security-policy|tollgate)/;

/** Headers named in `Connection` are only for this hop (RFC 9110 §7.6.1). */
function perHop(headers: IncomingHttpHeaders): Set<string> {
  const named = String(headers.connection ?? '').split(',');
  return new Set(named.map((name) => name.trim().toLowerCase()).filter(Boolean));
}

function pick(headers: IncomingHttpHeaders, allowed: ReadonlySet<string>): Headers {
  const hop = perHop(headers);
  const picked: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hop.has(name)) continue;
    if (allowed.has(name) || isPassedXHeader(name)) picked[name] = value;
  }
  return picked;
}

/** Servers that turn names into variables (CGI, WSGI, PHP) read `x-real_ip` and `x-real.ip` as `x-real-ip`. */
function isPassedXHeader(name: string): boolean {
  return name.startsWith('x-') && !WITHHELD_X_HEADERS.test(name.replace(/[^a-z0-9]/g, '-'));
}

/** Where a request came from, as reported to upstreams. */
type RequestOrigin = { clientAddress: string; host: string; protocol: string };

/**
 * The request headers that the upstream gets. Credentials, cookies, payments, and unknown headers are removed, and
 * `X-Forwarded-*` contains what this gateway knows instead of what the caller sent.
 */
export function requestHeaders(headers: IncomingHttpHeaders, origin: RequestOrigin): Headers {
  return {
    // Otherwise an upstream might choose an encoding that the caller can't read.
    'accept-encoding': 'identity',
    ...pick(headers, REQUEST_HEADERS),
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
  const picked = pick(headers, RESPONSE_HEADERS);
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
