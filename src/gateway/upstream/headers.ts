import type { IncomingHttpHeaders } from 'node:http';

export type Headers = Record<string, string | string[]>;

/** What a request may carry to an upstream besides `x-…`: content, negotiation, conditions, tracing. */
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

/** What an answer may carry to the buyer besides `x-…`. */
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
 * Of the `x-…` headers these stay behind: payments and credentials, what proxies write and servers believe, what makes a
 * request another one than was routed, and what a browser takes for a rule of the whole host.
 */
const WITHHELD_X_HEADERS =
  /^x-(?:payment|api-?key|auth|access-token|csrf|xsrf|amz|forwarded|real-ip|client-ip|cluster-client|originating|remote|true-client|original|rewrite|http-method|method-override|http-host|host|proxy|envoy|accel|sendfile|litespeed|lighttpd|reproxy|middleware|nextjs|vercel|request-id|powered-by|frame-options|content-type-options|xss-protection|robots-tag|permitted-cross|dns-prefetch|webkit-csp|content-security-policy|tollgate)/;

/** Named in `Connection`, a header is for this hop alone (RFC 9110 §7.6.1). */
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

/** To servers that turn names into variables (CGI, WSGI, PHP), `x-real_ip` and `x-real.ip` are `x-real-ip`. */
function isPassedXHeader(name: string): boolean {
  return name.startsWith('x-') && !WITHHELD_X_HEADERS.test(name.replace(/[^a-z0-9]/g, '-'));
}

/** Where a request came from, as upstreams are told. */
export type Origin = { clientAddress: string; host: string; protocol: string };

/**
 * The headers of a request as its upstream gets them. Credentials, cookies, payments and whatever is not known here stay
 * behind, and `X-Forwarded-*` says what this gateway knows, not what the caller wrote.
 */
export function requestHeaders(headers: IncomingHttpHeaders, origin: Origin): Headers {
  return {
    // Without it an upstream might choose a coding that the caller does not read.
    'accept-encoding': 'identity',
    ...pick(headers, REQUEST_HEADERS),
    'x-forwarded-for': origin.clientAddress,
    'x-forwarded-host': origin.host,
    'x-forwarded-proto': origin.protocol,
  };
}

/**
 * The headers of an upstream's answer as the buyer gets them. Cookies stay behind, because all sellers share a host, and
 * so does what would speak for the whole host. The body is sent with a length of its own.
 */
export function responseHeaders(headers: IncomingHttpHeaders): Headers {
  const picked = pick(headers, RESPONSE_HEADERS);
  const cacheControl = picked['cache-control'];
  if (cacheControl !== undefined) picked['cache-control'] = privately(String(cacheControl));
  return picked;
}

/** What one buyer has paid for is not for shared caches. */
function privately(cacheControl: string): string {
  const directives = cacheControl
    // Commas in quotes separate nothing, and a quote that nobody closes would take what follows into it.
    .replace(/="[^"]*"?/g, '')
    .replaceAll('"', '')
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => directive && !/^(?:public|private|s-maxage|stale-while|proxy-revalidate)/i.test(directive));
  return [...directives, 'private'].join(', ');
}
