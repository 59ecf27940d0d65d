import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { EgressError, toEgressError } from '../../egress/egress-error.ts';
import { AppError } from '../../errors.ts';
import { type Headers, responseHeaders } from './headers.ts';
import { InterruptedRequest, meterBody } from './request-body.ts';

export type UpstreamRequest = {
  origin: string;
  /** Path and query. */
  path: string;
  /** What buyers see instead of the upstream's `Location`, or undefined if they must not see it. */
  publicLocation(location: string): string | undefined;
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
  /** Reserves memory for bytes of the response. Returns false if there isn't enough left. */
  hold(bytes: number): boolean;
};

export type UpstreamResponse = {
  statusCode: number;
  /** Only the headers that the buyer may see. */
  headers: Headers;
  body: Buffer;
  durationMs: number;
  /** SHA-256 of the sent body in hex, or null if there was none or it wasn't fully read. */
  requestBodyDigest: string | null;
};

/** The upstream returned no response that can be passed on. `reason` is stable and the message is safe to show. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly reason: string;
  readonly isTimeout: boolean;
  constructor(reason: string, message: string, options: { cause?: unknown; isTimeout?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.isTimeout = options.isTimeout ?? false;
  }
}

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
/** Many clients, including Node, read at most 16 KB of headers, and the gateway adds its own. */
const MAX_RESPONSE_HEADER_BYTES = 14 * 1024;
/** The longest time between two chunks of a response. */
const IDLE_MILLISECONDS = 30_000;
/** The reason if the buyer disconnected before the upstream had the request. */
export const BUYER_GONE = 'buyer_gone';
/** The reason if there is no memory for another response. */
export const GATEWAY_BUSY = 'gateway_busy';
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** For these, `Location` says what was created, or where the result will be (RFC 9110 §15.3.2, §15.3.3). */
const LOCATED = new Set([201, 202]);

/**
 * Calls an upstream once and buffers the whole response. The request body streams through. The response is limited in
 * size and time. Nothing is ever sent twice. If the buyer disconnects after the upstream has the request, the call
 * continues, because the work is being done and will be paid for.
 *
 * @throws UpstreamError if there is no usable response, or AppError `PAYLOAD_TOO_LARGE` if the request body is too
 *   large.
 */
export async function callUpstream(dispatcher: Dispatcher, request: UpstreamRequest): Promise<UpstreamResponse> {
  const startedAt = performance.now();
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(new EgressError('timeout')), request.timeoutMilliseconds);
  const signal = AbortSignal.any([giveUp.signal, request.lost]);
  const body = request.body && meterBody(request.body);
  let isSending = false;
  const onGone = () => {
    const isSent = isSending && (body === null || body.digest !== null);
    if (!isSent) giveUp.abort(buyerGone());
  };
  if (request.gone.aborted) onGone();
  request.gone.addEventListener('abort', onGone);
  const noting = dispatcher.compose(
    (dispatch) => (options, handler) =>
      dispatch(
        options,
        notingStart(handler, () => (isSending = true)),
      ),
  );
  try {
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
    const { statusCode } = response;
    if (statusCode > 599) {
      response.body.destroy();
      throw new UpstreamError(
        'upstream_answer_invalid',
        `The upstream responded with an invalid status: ${statusCode}.`,
      );
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
    // For HEAD, this is the length of a body that isn't sent (RFC 9110 §8.6), so it can't be computed here.
    if (request.method === 'HEAD' && length !== undefined) headers['content-length'] = length;
    if (bytesOf(headers) > MAX_RESPONSE_HEADER_BYTES) {
      response.body.destroy();
      throw new UpstreamError('upstream_answer_too_large', "The upstream's response headers are too large.");
    }
    return {
      statusCode,
      headers,
      body: await readBounded(response.body, request.hold),
      durationMs: Math.round(performance.now() - startedAt),
      requestBodyDigest: body?.digest ?? null,
    };
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    if (body?.errored instanceof AppError) throw body.errored;
    if (body?.errored instanceof InterruptedRequest) throw buyerGone();
    if (request.lost.aborted) throw new UpstreamError('interrupted', 'Another process took over the payment.');
    throw giveUp.signal.aborted ? failureOf(giveUp.signal.reason) : failureOf(error);
  } finally {
    request.gone.removeEventListener('abort', onGone);
    clearTimeout(timer);
  }
}

/** The size of the headers as clients count it: names and values. */
function bytesOf(headers: Headers): number {
  const lines = Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => name + value));
  return lines.join('').length;
}

/** Reads into one growing buffer, so ten million one-byte chunks take no more memory than a single large chunk. */
async function readBounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  hold: (bytes: number) => boolean,
): Promise<Buffer> {
  let buffer = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of body) {
    const needed = bytes + chunk.length;
    if (needed > MAX_RESPONSE_BYTES) {
      body.destroy();
      throw new UpstreamError('upstream_answer_too_large', "The upstream's response is too large.");
    }
    if (needed > buffer.length) {
      const size = Math.min(Math.max(needed, 2 * buffer.length), MAX_RESPONSE_BYTES);
      if (!hold(size - buffer.length)) {
        body.destroy();
        throw new UpstreamError(GATEWAY_BUSY, 'The gateway is holding too many responses right now.');
      }
      buffer = Buffer.concat([buffer], size);
    }
    chunk.copy(buffer, bytes);
    bytes = needed;
  }
  return buffer.subarray(0, bytes);
}

/** Wraps a handler to call `onStart` when the request starts going out. */
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

function buyerGone(): UpstreamError {
  return new UpstreamError(BUYER_GONE, 'The buyer closed the connection.');
}

function failureOf(cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const { errorClass } = toEgressError(cause);
  const isTimeout = errorClass === 'timeout' || errorClass === 'connect_timeout';
  return isTimeout
    ? new UpstreamError('upstream_timeout', "The upstream didn't respond in time.", { cause, isTimeout })
    : new UpstreamError('upstream_unreachable', "The upstream couldn't be reached, or closed the connection.", {
        cause,
      });
}
