import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { EgressError } from '../../egress/egress-error.ts';
import { AppError } from '../../errors.ts';
import { bytesOf, type Headers, responseHeaders } from './headers.ts';
import { InterruptedRequest, type MeteredBody, meterBody } from './request-body.ts';
import {
  buyerGone,
  buyerSlow,
  failureOf,
  gatewayBusy,
  UPSTREAM_ANSWER_TOO_LARGE,
  UpstreamError,
} from './upstream-error.ts';

export type UpstreamRequest = {
  origin: string;
  /** Path and query. */
  path: string;
  /** What buyers see instead of the upstream's `Location`, or undefined if they must not see it. */
  publicLocation(location: string): string | undefined;
  /** Removes the response's headers that buyers must not see, because they repeat the seller's secrets. */
  withhold(headers: Headers): void;
  method: string;
  headers: Headers;
  /** The request's body, or null if it has none. */
  body: Readable | null;
  /** Applies to the whole call, up to the last byte of the response. */
  timeoutMilliseconds: number;
  /** Aborts the call when another process takes over the payment. */
  lost: AbortSignal;
  /** Aborted when the buyer disconnects. Ends the call unless the upstream already has the whole request. */
  gone: AbortSignal;
  /** Holds the response, which can be dropped from now on. */
  memory: ResponseMemory;
};

/** The memory that holds one response. `take` returns false if there is no room; `mayDrop` allows ending the call. */
type ResponseMemory = { take(bytes: number): boolean; mayDrop(end: () => void): void };

export type UpstreamResponse = {
  statusCode: number;
  /** Contains only the headers that the buyer may see. */
  headers: Headers;
  body: Buffer;
  durationMs: number;
  /** SHA-256 of the sent body in hex, or null if there was none or it wasn't fully read. */
  requestBodyDigest: string | null;
};

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
/** The memory that is reserved before the call. Otherwise, upstreams would do work for responses that nobody gets. */
export const RESERVED_BYTES = 64 * 1024;
/** The share of the time limit that the buyer may use to send the request body. */
const BODY_SHARE = 0.5;
/** Many clients, including Node, read at most 16 KB of headers, and the gateway adds its own. */
const MAX_RESPONSE_HEADER_BYTES = 14 * 1024;
/** The longest time between two chunks of a response. */
const IDLE_MILLISECONDS = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** For these, `Location` says what was created, or where the result will be (RFC 9110 §15.3.2, §15.3.3). */
const LOCATED = new Set([201, 202]);

/**
 * Calls an upstream once and buffers the whole response. A request body over 64 KB streams through. The response is limited in
 * size and time. Nothing is ever sent twice. If the buyer disconnects after the upstream has the request, the call
 * continues, because the work is being done and will be paid for.
 *
 * @throws UpstreamError if there is no usable response, or AppError `PAYLOAD_TOO_LARGE` if the request body is too
 *   large.
 */
export async function callUpstream(dispatcher: Dispatcher, request: UpstreamRequest): Promise<UpstreamResponse> {
  const giveUp = new AbortController();
  request.memory.mayDrop(() => giveUp.abort(gatewayBusy()));
  if (!request.memory.take(RESERVED_BYTES)) throw gatewayBusy();
  const startedAt = performance.now();
  const timer = setTimeout(() => giveUp.abort(new EgressError('timeout')), request.timeoutMilliseconds);
  const { signal } = giveUp;
  const onLost = () => giveUp.abort();
  const body = request.body && meterBody(request.body);
  let isSending = false;
  const onGone = () => {
    const isSent = isSending && (body === null || body.digest !== null);
    if (!isSent) giveUp.abort(buyerGone());
  };
  if (request.gone.aborted) onGone();
  if (request.lost.aborted) onLost();
  // Not `AbortSignal.any`: only a full garbage collection frees its signals, and everything that they refer to.
  request.gone.addEventListener('abort', onGone);
  request.lost.addEventListener('abort', onLost);
  const noting = dispatcher.compose(
    (dispatch) => (options, handler) =>
      dispatch(
        options,
        notingStart(handler, () => (isSending = true)),
      ),
  );
  let stopPacing = () => {};
  try {
    if (body) {
      await body.arrive(signal);
      stopPacing = body.requirePace(() => giveUp.abort(buyerSlow()));
    }
    const response = await noting.request({
      origin: request.origin,
      path: request.path,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers,
      body,
      signal,
      headersTimeout: 0,
      bodyTimeout: IDLE_MILLISECONDS,
    });
    // A destroyed body emits an error, which would crash the process without a listener.
    response.body.on('error', () => {});
    const { statusCode, headers } = headOf(response, request);
    return {
      statusCode,
      headers,
      body: await readBounded(response.body, request.memory),
      durationMs: Math.round(performance.now() - startedAt),
      requestBodyDigest: body?.digest ?? null,
    };
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    if (body?.errored instanceof AppError) throw body.errored;
    if (body?.errored instanceof InterruptedRequest) throw buyerGone();
    if (request.lost.aborted) throw new UpstreamError('interrupted', 'Another process took over the payment.');
    const failure = failureOf(signal.aborted ? signal.reason : error);
    const isBuyerSlow = body && buyerMillisecondsOf(body, startedAt) > request.timeoutMilliseconds * BODY_SHARE;
    throw failure.isTimeout && isBuyerSlow ? buyerSlow() : failure;
  } finally {
    stopPacing();
    request.gone.removeEventListener('abort', onGone);
    request.lost.removeEventListener('abort', onLost);
    clearTimeout(timer);
  }
}

/** How long the call has waited for the buyer to send the request body. Excludes waits for the upstream to read it. */
function buyerMillisecondsOf(body: MeteredBody, startedAt: number): number {
  return (body.endedAt ?? performance.now()) - startedAt - body.fullMilliseconds;
}

/**
 * The status and the headers that the buyer may see. If the response can't be passed on, its body is destroyed.
 *
 * @throws UpstreamError
 */
export function headOf(
  response: Dispatcher.ResponseData,
  request: Pick<UpstreamRequest, 'method' | 'publicLocation' | 'withhold'>,
): Pick<UpstreamResponse, 'statusCode' | 'headers'> {
  const { statusCode } = response;
  if (statusCode > 599) {
    response.body.destroy();
    throw new UpstreamError('upstream_answer_invalid', `The upstream responded with an invalid status: ${statusCode}.`);
  }
  if (REDIRECTS.has(statusCode)) {
    response.body.destroy();
    throw new UpstreamError(
      'upstream_redirect',
      'The upstream returned a redirect. The seller must fix the upstream URL.',
    );
  }
  const headers = responseHeaders(response.headers);
  const { location, 'content-length': length } = response.headers;
  const publicLocation =
    LOCATED.has(statusCode) && typeof location === 'string' ? request.publicLocation(location) : undefined;
  if (publicLocation !== undefined) headers.location = publicLocation;
  request.withhold(headers);
  // For HEAD, this is the length of a body that isn't sent (RFC 9110 §8.6), so it can't be computed here.
  if (request.method === 'HEAD' && length !== undefined) headers['content-length'] = length;
  if (bytesOf(headers) > MAX_RESPONSE_HEADER_BYTES) {
    response.body.destroy();
    throw new UpstreamError(UPSTREAM_ANSWER_TOO_LARGE, "The upstream's response headers are too large.");
  }
  return { statusCode, headers };
}

/** Reads into one growing buffer, so ten million one-byte chunks take no more memory than a single large chunk. */
async function readBounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  memory: ResponseMemory,
): Promise<Buffer> {
  let buffer = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of body) {
    const needed = bytes + chunk.length;
    if (needed > MAX_RESPONSE_BYTES) {
      body.destroy();
      throw new UpstreamError(UPSTREAM_ANSWER_TOO_LARGE, "The upstream's response is too large.");
    }
    if (needed > buffer.length) {
      const size = Math.min(Math.max(needed, 2 * buffer.length), MAX_RESPONSE_BYTES);
      if (!memory.take(Math.max(0, size - Math.max(buffer.length, RESERVED_BYTES)))) {
        body.destroy();
        throw gatewayBusy();
      }
      buffer = Buffer.concat([buffer], size);
    }
    chunk.copy(buffer, bytes);
    bytes = needed;
  }
  return buffer.subarray(0, bytes);
}

/** Wraps a handler to call `onStart` when sending the request begins. */
function notingStart(handler: Dispatcher.DispatchHandler, onStart: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      handler.onRequestStart?.(controller, context);
      if (!controller.aborted) onStart();
    },
    onResponseStart: (...response) => handler.onResponseStart?.(...response),
    onResponseData: (...data) => handler.onResponseData?.(...data),
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  };
}
