import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Dispatcher } from 'undici';
import { EgressError } from '../../egress/egress-error.ts';
import { AppError } from '../../errors.ts';
import { MAX_UPSTREAM_SECONDS } from '../../features/endpoints/settlement.ts';
import type { UpstreamRequest } from './call.ts';
import type { Headers } from './headers.ts';
import { joiningChunks } from './joined-chunks.ts';
import { type ReadingPace, watchReadingPace } from './reading-pace.ts';
import { requestThroughSlash } from './redirects.ts';
import { InterruptedRequest, type MeteredBody } from './request-body.ts';
import { headOf } from './response-head.ts';
import { takingTurns } from './taking-turns.ts';
import { buyerGone, buyerSlow, failureOf, stillSending, stoppedSending, UpstreamError } from './upstream-error.ts';

export type StreamRequest = Omit<UpstreamRequest, 'body' | 'timeoutMilliseconds' | 'idleMilliseconds' | 'memory'> & {
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
/** If a call has waited for the buyer for more than this share of that time, it isn't the upstream that took too long. */
const BUYERS_SHARE = 1 / 2;

/**
 * Calls an upstream and returns its response as soon as the headers arrive. The body isn't buffered: it is read only as
 * fast as the buyer reads it. If the buyer disconnects, the call is aborted. Nothing is sent twice, except as described
 * for `requestThroughSlash`.
 *
 * @throws UpstreamError if there is no usable response, AppError `PAYLOAD_TOO_LARGE` if the request body is too large, or
 *   what `headersFor` throws.
 */
export async function streamUpstream(dispatcher: Dispatcher, request: StreamRequest): Promise<UpstreamStream> {
  const { origin, method, body, idleMilliseconds, lost, gone } = request;
  const headers = request.headersFor(request.path);
  const giveUp = new AbortController();
  let stream: Readable | undefined;
  let pace: ReadingPace | undefined;
  let isArriving = body !== null;
  const onTime = () => {
    if (isArriving) giveUp.abort(buyerSlow());
    else if (!stream) giveUp.abort(new EgressError('timeout'));
    else giveUp.abort(isWaitForBuyer(stream) ? buyerGone() : stillSending(MAX_STREAM_SECONDS * 1000));
  };
  /** A buyer could read everything that is waiting just before the time is over. */
  const isWaitForBuyer = (waiting: Readable) =>
    waiting.isPaused() || (pace?.pausedMilliseconds() ?? 0) > BUYERS_SHARE * MAX_STREAM_SECONDS * 1000;
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
    const failure = failureOf(giveUp.signal.aborted ? giveUp.signal.reason : error);
    if (stream && mayWaitForBuyer(failure)) return buyerSlow();
    if (pace?.isSlow()) return buyerGone();
    return stream && failure.isTimeout && !giveUp.signal.aborted ? stoppedSending(idleMilliseconds) : failure;
  }

  /** Whether the upstream may have stopped because the rest of the request body was missing. */
  function mayWaitForBuyer({ isTimeout }: UpstreamError): boolean {
    return body !== null && (isTimeout ? body.isMissing : body.isOverdue);
  }

  try {
    if (body) {
      await body.arrive(giveUp.signal);
      isArriving = false;
      stopPacing = body.requirePace(() => giveUp.abort(buyerSlow()));
    }
    const reading = { isBehind: () => stream?.isPaused() ?? false, onBytes: (bytes: number) => pace?.add(bytes) };
    const pausing = dispatcher.compose(
      (dispatch) => (sent, handler) => dispatch(sent, takingTurns(joiningChunks(pausingWhile(reading, handler)))),
    );
    const requested = await requestThroughSlash(request, body, (path, sent) =>
      pausing.request({
        origin,
        path,
        headers: path === request.path ? headers : request.headersFor(path),
        body: sent,
        method: method as Dispatcher.HttpMethod,
        signal: giveUp.signal,
        headersTimeout: 0,
        bodyTimeout: idleMilliseconds,
      }),
    );
    const { response } = requested;
    stream = response.body;
    pace = watchReadingPace(stream);
    let failure: Error | undefined;
    // The reason is determined right away, because after an upstream failure, the buyer's connection is also closed.
    stream.once('error', (error) => {
      failure = reasonOf(error);
    });
    const head = await headOf(requested, request);
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

/**
 * Wraps a handler to stop reading from the upstream as soon as the buyer is behind. Otherwise, the body would first fill
 * its own buffer, and an unread stream would take about 370 KB instead of 245 KB.
 */
function pausingWhile(
  { isBehind, onBytes }: { isBehind(): boolean; onBytes(bytes: number): void },
  handler: Dispatcher.DispatchHandler,
): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...start) => handler.onRequestStart?.(...start),
    onResponseStart: (...response) => handler.onResponseStart?.(...response),
    onResponseData(controller, chunk) {
      onBytes(chunk.length);
      handler.onResponseData?.(controller, chunk);
      if (isBehind()) controller.pause();
    },
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  };
}
