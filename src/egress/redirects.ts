import { EgressError } from './egress-error.ts';
import type { EgressRequest, ReceivedResponse } from './exchange.ts';
import { hostnameOf } from './url.ts';

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
// RFC 9110 §15.4.8 and §15.4.9. After the others, clients may change the method.
const KEEP_METHOD: ReadonlySet<number> = new Set([307, 308]);

/** A redirect that isn't followed. The message is for the operator. */
export class RedirectError extends EgressError {
  /** 303 means that the request was processed. After all others, it wasn't (RFC 9110 §15.4). */
  readonly statusCode: number;
  /** The URL to use instead, without its query. Its path can be secret. Undefined if the response doesn't name one. */
  readonly target: string | undefined;

  constructor(statusCode: number, target: string | undefined, message: string) {
    super('protocol_error', { message });
    this.statusCode = statusCode;
    this.target = target;
  }
}

/**
 * Sends a request to a service whose URL the operator has set, and follows up to three redirects that keep the method
 * and the body. One deadline covers all requests, and each URL is checked by the guard. No redirect leads from https to
 * http.
 *
 * @param options `mayLeaveSite`: whether to follow redirects to another site. Must be false if the request has
 * credentials, or if the response is trusted only because of where it comes from. `headersFor` returns the headers for
 * a URL after a redirect. Default: the same headers.
 * @throws EgressError if there is no response. RedirectError for redirects that aren't followed.
 */
export async function sendFollowing<Response extends ReceivedResponse>(
  send: (request: EgressRequest) => Promise<Response>,
  request: EgressRequest,
  options: { mayLeaveSite: boolean; headersFor?: (url: string) => Promise<Record<string, string>> },
): Promise<Response> {
  const deadline = performance.now() + request.timeoutMilliseconds;
  let response = await send(request);
  let from = request.url;
  for (let count = 1; REDIRECTS.has(response.statusCode); count += 1) {
    const to = targetOf(response, from);
    const isFollowed =
      to !== undefined &&
      (request.method === 'GET' || KEEP_METHOD.has(response.statusCode)) &&
      !(new URL(from).protocol === 'https:' && to.protocol === 'http:') &&
      (options.mayLeaveSite || isSameSite(new URL(request.url), to));
    if (!isFollowed) throw notFollowed(response.statusCode, to);
    if (count > MAX_REDIRECTS) throw new RedirectError(response.statusCode, undefined, 'It redirects too many times.');
    const { statusCode } = response;
    from = to.href;
    const headers = (await options.headersFor?.(from)) ?? request.headers;
    const timeoutMilliseconds = Math.max(1, Math.round(deadline - performance.now()));
    response = await send({ ...request, url: from, headers, timeoutMilliseconds }).catch((error) => {
      const isClosed = error instanceof EgressError && error.errorClass === 'target_not_allowed';
      throw isClosed ? notFollowed(statusCode, to) : error;
    });
  }
  return response;
}

/**
 * Whether a URL belongs to the same site as a trusted one: the same host and port, with or without `www.`, or the same
 * host with https instead of http.
 */
export function isSameSite(trusted: URL, url: URL): boolean {
  if (withoutWww(trusted) !== withoutWww(url)) return false;
  const isUpgrade = trusted.protocol === 'http:' && url.protocol === 'https:' && trusted.port === '';
  return (trusted.protocol === url.protocol || isUpgrade) && trusted.port === url.port;
}

function withoutWww(url: URL): string {
  return hostnameOf(url).replace(/^www\.(?=.+\.)/, '');
}

/** Undefined if there is no http(s) URL. */
function targetOf({ headers }: ReceivedResponse, from: string): URL | undefined {
  const url = URL.parse(headers.location ?? '', from);
  if (headers.location === undefined || !url || !/^https?:$/.test(url.protocol)) return undefined;
  // Fragments are never sent to servers.
  url.hash = '';
  return url;
}

function notFollowed(statusCode: number, to: URL | undefined): RedirectError {
  if (!to) return new RedirectError(statusCode, undefined, "It redirects, but doesn't say where to.");
  const target = `${to.origin}${to.pathname}`;
  return new RedirectError(statusCode, target, `It redirects to ${target}. Use that URL instead.`);
}
