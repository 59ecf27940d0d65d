import type { Dispatcher } from 'undici';
import { EgressError } from '../../egress/egress-error.ts';
import { AppError } from '../../errors.ts';
import type { ResponseMemory, UpstreamRequest, UpstreamResponse } from './call.ts';
import { requestThroughSlash } from './redirects.ts';
import { InterruptedRequest, type MeteredBody, meterBody } from './request-body.ts';
import { headOf } from './response-head.ts';
import {
  buyerGone,
  buyerSlow,
  failureOf,
  gatewayBusy,
  stillSending,
  stoppedSending,
  UPSTREAM_RESPONSE_TOO_LARGE,
  UpstreamError,
} from './upstream-error.ts';

const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
/** The memory that is reserved before the call. Otherwise, upstreams would do work for responses that nobody gets. */
export const RESERVED_BYTES = 64 * 1024;
/** The share of the time limit that the buyer may use to send the request body. */
const BODY_SHARE = 0.5;
const IDLE_MILLISECONDS = 30_000;

/**
 * Calls an upstream and buffers the whole response. A request body over 64 KB streams through. The response is limited in
 * size and time. Nothing is sent twice, unless the upstream redirects to the path with or without the trailing slash
 * (see `requestThroughSlash`) or closes a used connection without responding (see `resendOnce`). The limits cover all
 * requests. If the buyer disconnects after the upstream has the request, the call continues, because the work is being
 * done and will be paid for.
 *
 * @throws UpstreamError if there is no usable response, AppError `PAYLOAD_TOO_LARGE` if the request body is too large, or
 *   what `headersFor` throws.
 */
export async function callUpstream(dispatcher: Dispatcher, request: UpstreamRequest): Promise<UpstreamResponse> {
  const headers = request.headersFor(request.path);
  const giveUp = new AbortController();
  request.memory.mayDrop(() => giveUp.abort(gatewayBusy()));
  if (!request.memory.take(RESERVED_BYTES)) throw gatewayBusy();
  const startedAt = performance.now();
  const { timeoutMilliseconds, idleMilliseconds = IDLE_MILLISECONDS } = request;
  let isResponding = false;
  const onTime = () =>
    giveUp.abort(
      isResponding
        ? stillSending(timeoutMilliseconds, 'To stream responses, charge before the request.')
        : new EgressError('timeout'),
    );
  const timer = setTimeout(onTime, timeoutMilliseconds);
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
    const requested = await requestThroughSlash(request, body, (path, sent) => {
      isSending = false;
      return noting.request({
        origin: request.origin,
        path,
        headers: path === request.path ? headers : request.headersFor(path),
        method: request.method as Dispatcher.HttpMethod,
        body: sent,
        signal,
        headersTimeout: 0,
        bodyTimeout: idleMilliseconds,
      });
    });
    isResponding = true;
    return {
      ...(await headOf(requested, request)),
      body: await readBounded(requested.response.body, request.memory),
      durationMs: Math.round(performance.now() - startedAt),
      requestBodyDigest: body?.digest ?? null,
    };
  } catch (error) {
    if (error instanceof UpstreamError && !error.isTimeout) throw error;
    if (body?.errored instanceof AppError) throw body.errored;
    if (body?.errored instanceof InterruptedRequest) throw buyerGone();
    if (request.lost.aborted) throw new UpstreamError('interrupted', 'Another process took over the payment.');
    const failure = failureOf(signal.aborted ? signal.reason : error);
    if (!failure.isTimeout) throw failure;
    if (body && buyerMillisecondsOf(body, startedAt) > timeoutMilliseconds * BODY_SHARE) throw buyerSlow();
    if (signal.aborted || !isResponding) throw failure;
    throw stoppedSending(idleMilliseconds, 'To allow longer pauses, charge before the request.');
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
      throw new UpstreamError(UPSTREAM_RESPONSE_TOO_LARGE, "The upstream's response is too large.");
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
