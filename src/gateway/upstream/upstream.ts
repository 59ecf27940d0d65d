import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { EgressError, toEgressError } from '../../egress/egress-error.ts';
import { AppError } from '../../errors.ts';
import { type Headers, responseHeaders } from './headers.ts';
import { meterBody, RequestBrokenOff } from './request-body.ts';

export type UpstreamRequest = {
  origin: string;
  /** Path and query. */
  path: string;
  method: string;
  headers: Headers;
  /** The request whose body goes along, or null when it has none. */
  body: Readable | null;
  /** For everything, to the last byte of the answer. */
  timeoutMilliseconds: number;
  /** Ends the request when another process has the payment. */
  lost: AbortSignal;
  /** Aborted when the buyer has gone: ends the request while the upstream does not have it whole. */
  gone: AbortSignal;
  /** Reserves memory for so many bytes of the answer; false when there is none. */
  hold(bytes: number): boolean;
};

export type UpstreamAnswer = {
  statusCode: number;
  /** What the buyer may see of them. */
  headers: Headers;
  body: Buffer;
  durationMs: number;
  /** SHA-256 of the body that was sent, in hex; null when there was none or it was not read whole. */
  requestBodyDigest: string | null;
};

/** The upstream gave no answer that can be passed on. `reason` is stable, the message safe to show. */
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

export const MAX_ANSWER_BYTES = 10 * 1024 * 1024;
/** Many clients, Node among them, read 16 KB of headers at most, and the gateway adds its own. */
const MAX_ANSWER_HEADER_BYTES = 14 * 1024;
/** Between two chunks of an answer. */
const IDLE_MILLISECONDS = 30_000;
/** The reason when the buyer has gone before the upstream had the request. */
export const BUYER_GONE = 'buyer_gone';
/** The reason when there is no memory for one more answer. */
export const GATEWAY_BUSY = 'gateway_busy';
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Calls an upstream once and holds its whole answer. The body of the request streams through; the answer is bounded in
 * bytes and time. Nothing is ever sent a second time. A buyer who goes away once the upstream has the request does not
 * end it: the work is done then, and paid for.
 *
 * @throws UpstreamError without an answer; AppError `PAYLOAD_TOO_LARGE` when the request's body is too large.
 */
export async function callUpstream(dispatcher: Dispatcher, request: UpstreamRequest): Promise<UpstreamAnswer> {
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
    const answer = await noting.request({
      origin: request.origin,
      path: request.path,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers,
      body,
      signal,
      headersTimeout: 0,
      bodyTimeout: IDLE_MILLISECONDS,
    });
    // Broken off, it reports an error also to nobody, which would end the process.
    answer.body.on('error', () => {});
    const { statusCode } = answer;
    if (statusCode > 599) {
      answer.body.destroy();
      throw new UpstreamError(
        'upstream_answer_invalid',
        `The upstream answered with status ${statusCode}, which is none.`,
      );
    }
    if (REDIRECTS.has(statusCode)) {
      answer.body.destroy();
      throw new UpstreamError('upstream_redirect', 'The upstream redirects; its address has to be corrected.');
    }
    const headers = responseHeaders(answer.headers);
    // It is the length of a body that stays away (RFC 9110 §8.6): nobody could count it.
    const { 'content-length': length } = answer.headers;
    if (request.method === 'HEAD' && length !== undefined) headers['content-length'] = length;
    if (bytesOf(headers) > MAX_ANSWER_HEADER_BYTES) {
      answer.body.destroy();
      throw new UpstreamError('upstream_answer_too_large', 'The headers of the upstream are too large.');
    }
    return {
      statusCode,
      headers,
      body: await readBounded(answer.body, request.hold),
      durationMs: Math.round(performance.now() - startedAt),
      requestBodyDigest: body?.digest ?? null,
    };
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    if (body?.errored instanceof AppError) throw body.errored;
    if (body?.errored instanceof RequestBrokenOff) throw buyerGone();
    if (request.lost.aborted) throw new UpstreamError('interrupted', 'Another process has taken the payment over.');
    throw giveUp.signal.aborted ? failureOf(giveUp.signal.reason) : failureOf(error);
  } finally {
    request.gone.removeEventListener('abort', onGone);
    clearTimeout(timer);
  }
}

/** What clients count of headers: names and values. */
function bytesOf(headers: Headers): number {
  const lines = Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => name + value));
  return lines.join('').length;
}

/** Reads into one buffer that grows: an answer in ten million chunks of a byte takes no more memory than in one. */
async function readBounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  hold: (bytes: number) => boolean,
): Promise<Buffer> {
  let answer = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of body) {
    const needed = bytes + chunk.length;
    if (needed > MAX_ANSWER_BYTES) {
      body.destroy();
      throw new UpstreamError('upstream_answer_too_large', 'The answer of the upstream is too large.');
    }
    if (needed > answer.length) {
      const size = Math.min(Math.max(needed, 2 * answer.length), MAX_ANSWER_BYTES);
      if (!hold(size - answer.length)) {
        body.destroy();
        throw new UpstreamError(GATEWAY_BUSY, 'The gateway holds too many answers at this moment.');
      }
      answer = Buffer.concat([answer], size);
    }
    chunk.copy(answer, bytes);
    bytes = needed;
  }
  return answer.subarray(0, bytes);
}

/** The same handler, with somebody told when the request begins to go over the wire. */
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
  return new UpstreamError(BUYER_GONE, 'The buyer has closed the connection.');
}

function failureOf(cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const { errorClass } = toEgressError(cause);
  const isTimeout = errorClass === 'timeout' || errorClass === 'connect_timeout';
  return isTimeout
    ? new UpstreamError('upstream_timeout', 'The upstream did not answer in time.', { cause, isTimeout })
    : new UpstreamError('upstream_unreachable', 'The upstream could not be reached, or broke off.', { cause });
}
