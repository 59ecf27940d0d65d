import type { UpstreamRequest, UpstreamResponse } from './call.ts';
import { bytesOf, responseHeaders } from './headers.ts';
import { isRedirect, type Requested, redirectFailure } from './redirects.ts';
import { UPSTREAM_RESPONSE_TOO_LARGE, UpstreamError } from './upstream-error.ts';

/** Many clients, including Node, read at most 16 KB of headers, and the gateway adds its own. */
const MAX_RESPONSE_HEADER_BYTES = 14 * 1024;
/** For these, `Location` says what was created, or where the result will be (RFC 9110 §15.3.2, §15.3.3). */
const LOCATED = new Set([201, 202]);

/**
 * The status and the headers that the buyer may see. If the response can't be passed on, its body is destroyed.
 *
 * @throws UpstreamError
 */
export async function headOf(
  requested: Requested,
  request: Pick<UpstreamRequest, 'origin' | 'method' | 'publicLocation' | 'withhold' | 'redirectTarget'>,
): Promise<Pick<UpstreamResponse, 'statusCode' | 'headers'>> {
  const { response, path } = requested;
  const { statusCode } = response;
  if (statusCode > 599) {
    response.body.destroy();
    throw new UpstreamError(
      'upstream_response_invalid',
      `The upstream responded with an invalid status: ${statusCode}.`,
    );
  }
  if (isRedirect(statusCode)) {
    response.body.destroy();
    throw await redirectFailure(requested, request);
  }
  const headers = responseHeaders(response.headers);
  const { location, 'content-length': length } = response.headers;
  const publicLocation =
    LOCATED.has(statusCode) && typeof location === 'string' ? request.publicLocation(location, path) : undefined;
  if (publicLocation !== undefined) headers.location = publicLocation;
  await request.withhold(headers);
  // For HEAD, this is the length of a body that isn't sent (RFC 9110 §8.6), so it can't be computed here.
  if (request.method === 'HEAD' && length !== undefined) headers['content-length'] = length;
  if (bytesOf(headers) > MAX_RESPONSE_HEADER_BYTES) {
    response.body.destroy();
    throw new UpstreamError(UPSTREAM_RESPONSE_TOO_LARGE, "The upstream's response headers are too large.");
  }
  return { statusCode, headers };
}
