import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { EgressError } from './egress-error.ts';
import { NO_PHASES, noteFailure, type Phases, takeOpened } from './phases.ts';
import type { TlsIdentity } from './tls-identity.ts';

export type EgressRequest = {
  method: string;
  url: string;
  /** Names in lowercase. */
  headers: Record<string, string>;
  body?: string | Buffer;
  /**
   * The limit for everything from the call to the last byte of the response, including name resolution and waiting for
   * a connection.
   */
  timeoutMilliseconds: number;
  /** If a body is longer than this, the rest isn't read. The connection is closed instead. */
  maxResponseBytes: number;
  signal?: AbortSignal;
  /** For servers that require a client certificate, or whose certificate comes from a private authority. */
  tls?: TlsIdentity;
};

export type ReceivedResponse = {
  statusCode: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  bodyTruncated: boolean;
  phases: Phases;
};

// A server may send hints before its response (RFC 8297), but not endlessly.
const MAX_INFORMATIONAL_RESPONSES = 32;

/** The headers that are sent, except the connection's own: `host`, `content-length`, and `connection`. */
export function sentHeaders(request: Pick<EgressRequest, 'headers'>): Record<string, string> {
  // Responses are never decompressed here, so that a small one can't grow. This header asks servers not to compress
  // them.
  return { 'accept-encoding': 'identity', ...request.headers };
}

/**
 * Sends one request and reads its response. Redirects aren't followed. One timer covers the whole exchange, because
 * undici's own timeouts restart with every byte and every informational response.
 *
 * @throws EgressError with the class `timeout`, `aborted`, or `protocol_error`, or any error that undici reports.
 */
export function exchange(dispatcher: Dispatcher, url: URL, request: EgressRequest): Promise<ReceivedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedResponse>();
  const chunks: Buffer[] = [];
  let controller: Dispatcher.DispatchController | undefined;
  let statusCode = 0;
  let headers: IncomingHttpHeaders = {};
  let informationalResponses = 0;
  let receivedBytes = 0;
  let isSettled = false;
  let phases = NO_PHASES;
  let sentAt = 0;

  const timer = setTimeout(() => stop(new EgressError('timeout')), request.timeoutMilliseconds);
  const onAbort = () => stop(new EgressError('aborted'));
  request.signal?.addEventListener('abort', onAbort, { once: true });

  function settle(): void {
    isSettled = true;
    clearTimeout(timer);
    request.signal?.removeEventListener('abort', onAbort);
  }

  function stop(error: Error): void {
    if (isSettled) return;
    settle();
    if (controller) noteFailure(error, phases);
    reject(error);
    controller?.abort(error);
  }

  function finish(bodyTruncated: boolean): void {
    if (isSettled) return;
    settle();
    const body = Buffer.concat(chunks, Math.min(receivedBytes, request.maxResponseBytes));
    resolve({ statusCode, headers, body, bodyTruncated, phases });
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // The request was aborted while it was waiting for a connection. Throwing leaves the connection to the next
      // request.
      if (isSettled) throw new EgressError('aborted');
      controller = started;
      phases = takeOpened() ?? NO_PHASES;
      sentAt = performance.now();
    },
    onResponseStart(_controller, status, received) {
      if (status >= 200) {
        statusCode = status;
        headers = received;
        phases = { ...phases, firstByteMs: Math.round(performance.now() - sentAt) };
      } else if (++informationalResponses > MAX_INFORMATIONAL_RESPONSES) stop(new EgressError('protocol_error'));
    },
    onResponseData(_controller, chunk) {
      if (isSettled) return;
      receivedBytes += chunk.length;
      chunks.push(chunk);
      if (receivedBytes <= request.maxResponseBytes) return;
      finish(true);
      controller?.abort(new EgressError('aborted'));
    },
    onResponseEnd: () => finish(false),
    onResponseError: (_controller, error) => stop(error),
  };

  if (request.signal?.aborted) onAbort();
  else {
    const { method, body = null } = request;
    const path = url.pathname + url.search;
    const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };
    try {
      dispatcher.dispatch(
        { origin: url.origin, path, method, headers: sentHeaders(request), body, ...noTimeouts },
        handler,
      );
    } catch (error) {
      stop(error instanceof Error ? error : new EgressError('unknown', { cause: error }));
    }
  }
  return promise;
}
