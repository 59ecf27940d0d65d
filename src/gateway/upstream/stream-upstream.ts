import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Dispatcher } from 'undici';
import { EgressError } from '../../egress/egress-error.ts';
import { AppError } from '../../errors.ts';
import { MAX_UPSTREAM_SECONDS } from '../../features/endpoints/settlement.ts';
import type { Headers } from './headers.ts';
import { InterruptedRequest, type MeteredBody } from './request-body.ts';
import { headOf, type UpstreamRequest } from './upstream.ts';
import { buyerGone, buyerSlow, failureOf, UpstreamError } from './upstream-error.ts';

export type StreamRequest = Omit<UpstreamRequest, 'body' | 'timeoutMilliseconds' | 'memory'> & {
  body: MeteredBody | null;
  /** The longest wait for the response headers, and between two chunks. Waits for the buyer don't count. */
  idleMilliseconds: number;
};

export type UpstreamStream = {
  statusCode: number;
  /** Contains only the headers that the buyer may see. */
  headers: Headers;
  body: Readable;
  /** Resolves when the body has ended. @throws UpstreamError if it was cut off. */
  ended: Promise<void>;
};

/** The longest that a call may take, no matter how steadily the response arrives. */
const MAX_STREAM_SECONDS = MAX_UPSTREAM_SECONDS.BEFORE_REQUEST;

/**
 * Calls an upstream once and returns its response as soon as the headers arrive. The body isn't buffered: it is read
 * only as fast as the buyer reads it. If the buyer disconnects, the call is aborted.
 *
 * @throws UpstreamError if there is no usable response, or AppError `PAYLOAD_TOO_LARGE` if the request body is too
 *   large.
 */
export async function streamUpstream(dispatcher: Dispatcher, request: StreamRequest): Promise<UpstreamStream> {
  const { origin, path, method, headers, body, idleMilliseconds, lost, gone } = request;
  const giveUp = new AbortController();
  let stream: Readable | undefined;
  let isArriving = body !== null;
  const onTime = () => {
    if (isArriving) giveUp.abort(buyerSlow());
    // A paused stream waits for the buyer, so it isn't the upstream that took too long.
    else giveUp.abort(stream?.isPaused() ? buyerGone() : new EgressError('timeout'));
  };
  const headersTimer = setTimeout(onTime, idleMilliseconds);
  const totalTimer = setTimeout(onTime, MAX_STREAM_SECONDS * 1000);
  let stopPacing = () => {};
  const onEnd = () => giveUp.abort();
  // Not `AbortSignal.any`: only a full garbage collection frees its signals, and everything that they refer to.
  for (const ending of [lost, gone]) {
    if (ending.aborted) onEnd();
    ending.addEventListener('abort', onEnd);
  }

  function release(): void {
    clearTimeout(totalTimer);
    stopPacing();
    for (const ending of [lost, gone]) ending.removeEventListener('abort', onEnd);
  }

  function reasonOf(error: unknown): Error {
    if (error instanceof UpstreamError) return error;
    if (body?.errored instanceof AppError) return body.errored;
    if (gone.aborted || body?.errored instanceof InterruptedRequest) return buyerGone();
    if (lost.aborted) return new UpstreamError('interrupted', 'Another process took over the payment.');
    return failureOf(giveUp.signal.aborted ? giveUp.signal.reason : error);
  }

  try {
    if (body) {
      await body.arrive(giveUp.signal);
      isArriving = false;
      stopPacing = body.requirePace(() => giveUp.abort(buyerSlow()));
    }
    const response = await dispatcher.request({
      ...{ origin, path, headers, body },
      method: method as Dispatcher.HttpMethod,
      signal: giveUp.signal,
      headersTimeout: 0,
      bodyTimeout: idleMilliseconds,
    });
    stream = response.body;
    let failure: Error | undefined;
    // The reason is determined right away, because after an upstream failure, the buyer's connection is also closed.
    stream.once('error', (error) => {
      failure = reasonOf(error);
    });
    // A destroyed body emits an error, which would crash the process without a listener.
    stream.on('error', () => {});
    const head = headOf(response, request);
    const length = response.headers['content-length'];
    // The body is passed on unchanged, so it has the same length.
    if (typeof length === 'string' && head.statusCode !== 204) head.headers['content-length'] = length;
    const ended = finished(stream, { writable: false })
      .catch((error) => {
        throw failure ?? reasonOf(error);
      })
      .finally(release);
    ended.catch(() => {});
    return { ...head, body: stream, ended };
  } catch (error) {
    release();
    throw reasonOf(error);
  } finally {
    clearTimeout(headersTimer);
  }
}
