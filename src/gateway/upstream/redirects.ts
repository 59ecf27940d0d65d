import type { Dispatcher } from 'undici';
import type { UpstreamRequest } from './call.ts';
import type { Headers } from './headers.ts';
import type { MeteredBody } from './request-body.ts';
import { buyerGone, UpstreamError } from './upstream-error.ts';

/** A response, and the path and query that it is a response to. */
export type Requested = { response: Dispatcher.ResponseData; path: string };

/** Sends a request for a path and query. */
type Send = (path: string, body: MeteredBody | Buffer | null) => Promise<Dispatcher.ResponseData>;

type Redirectable = Pick<UpstreamRequest, 'origin' | 'path' | 'method' | 'publicHost' | 'mayUseOtherSlash' | 'gone'>;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/**
 * These redirects keep the request's method. For 302 and 303, it may become GET, because they are also sent after the
 * work was done (RFC 9110 §15.4.3, §15.4.4), so only a request that is safe to repeat is sent again.
 */
const KEEPING_METHOD = new Set([301, 307, 308]);
const SAFE = new Set(['GET', 'HEAD']);
/** The longest `Location` that is read. */
const MAX_LOCATION_CHARACTERS = 8 * 1024;
/** The longest redirect target that sellers are shown. */
const MAX_SHOWN_CHARACTERS = 300;
/** How much of a redirect's body is read to keep the connection open. */
const MAX_DRAINED_BYTES = 16 * 1024;

export const isRedirect = (statusCode: number) => REDIRECTS.has(statusCode);

/**
 * Sends a request. If the upstream redirects to the same path with or without the trailing slash, sends the request
 * once more to that path. Many frameworks redirect to their own spelling, and buyers can't follow the redirect: the URL
 * isn't public, and another request would need another payment.
 *
 * The request is only repeated with the whole body, so one that is larger than 64 KB isn't repeated.
 *
 * @param send the response's body must not have been read. Called once or twice.
 * @throws what `send` throws, or UpstreamError if the buyer disconnects before the request is sent again.
 */
export async function requestThroughSlash(
  request: Redirectable,
  body: MeteredBody | null,
  send: Send,
): Promise<Requested> {
  const response = await sendQuietly(send, request.path, body);
  const wholeBody = body === null ? null : body.takeWhole();
  const other = otherSpelling(response, request);
  if (other === undefined || wholeBody === undefined || !(await request.mayUseOtherSlash())) {
    return { response, path: request.path };
  }
  await response.body.dump({ limit: MAX_DRAINED_BYTES });
  if (request.gone.aborted) throw buyerGone();
  return { response: await sendQuietly(send, other, wholeBody), path: other };
}

/** A destroyed response body emits an error, which would crash the process without a listener. */
async function sendQuietly(send: Send, ...sent: Parameters<Send>): Promise<Dispatcher.ResponseData> {
  const response = await send(...sent);
  response.body.on('error', () => {});
  return response;
}

/** The path and query to repeat the request with, if that is where a redirect leads. */
function otherSpelling(response: Dispatcher.ResponseData, request: Redirectable): string | undefined {
  const { origin, path, method, publicHost } = request;
  const { statusCode } = response;
  if (!isRedirect(statusCode) || !(KEEPING_METHOD.has(statusCode) || SAFE.has(method))) return undefined;
  const other = withOtherSlash(path);
  const url = readLocation(response, origin + path);
  if (other === undefined || !url || url.username || url.password) return undefined;
  const wanted = new URL(origin + other);
  // Upstreams don't always know whether they are called over TLS, and many use the public host (`X-Forwarded-Host`).
  // The request is only ever repeated at the upstream's own origin.
  if (url.host !== wanted.host && url.host !== publicHost) return undefined;
  const isSame = decoded(url.pathname) === decoded(wanted.pathname) && decoded(url.search) === decoded(wanted.search);
  return isSame ? other : undefined;
}

/** A path and query with the path's trailing slash added or removed. The root has no other spelling. */
function withOtherSlash(target: string): string | undefined {
  const [, path = '', query = ''] = /^([^?]*)(.*)$/.exec(target) ?? [];
  if (path === '/') return undefined;
  return (path.endsWith('/') ? path.slice(0, -1) : `${path}/`) + query;
}

/** Many frameworks write escapes differently than the request did. */
function decoded(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (byte) => String.fromCharCode(Number.parseInt(byte.slice(1), 16)));
}

function readLocation({ headers: { location } }: Dispatcher.ResponseData, base: string): URL | undefined {
  if (typeof location !== 'string' || location.length > MAX_LOCATION_CHARACTERS) return undefined;
  const url = URL.parse(location, base);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/**
 * The failure for a redirect. Only the seller learns where it leads, and not if the target repeats one of the seller's
 * headers.
 */
export async function redirectFailure(
  { response, path }: Requested,
  { origin, withhold, redirectTarget }: Pick<UpstreamRequest, 'origin' | 'withhold' | 'redirectTarget'>,
): Promise<UpstreamError> {
  const url = readLocation(response, origin + path);
  const shown: Headers = url ? { location: url.origin + url.pathname } : {};
  await withhold(shown);
  const message = 'The upstream returned a redirect. The seller must fix the upstream URL.';
  const target = url && shown.location !== undefined ? await redirectTarget(url) : undefined;
  return new UpstreamError('upstream_redirect', message, {
    ...(target !== undefined && {
      sellerMessage: `The upstream redirects to ${shorten(target)}. Set the endpoint's upstream URL so that requests go there.`,
    }),
  });
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}
