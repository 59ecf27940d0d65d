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
  /**
   * If a body is longer than this, the rest isn't read. The connection is closed instead. The same goes for a body in too
   * many tiny chunks.
   */
  maxResponseBytes: number;
  signal?: AbortSignal;
  /** For servers that require a client certificate, or whose certificate comes from a private authority. */
  tls?: TlsIdentity;
  /**
   * Whose connections to use, if others call the same origin and it's up to each of them how long a response takes.
   * Otherwise, slow requests could use up the connections of everyone else. Ignored with `tls`.
   */
  owner?: string;
};

export type ReceivedResponse = {
  statusCode: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  bodyTruncated: boolean;
  phases: Phases;
};

// Each chunk takes time, no matter how small it is. Without a limit, 64 KB in chunks of one byte would take as long as
// dozens of normal responses.
const MAX_SMALL_CHUNKS = 1_024;
const MIN_AVERAGE_CHUNK_BYTES = 16;

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
  const body = createBody(request.maxResponseBytes);
  let controller: Dispatcher.DispatchController | undefined;
  let statusCode = 0;
  let headers: IncomingHttpHeaders = {};
  let informationalResponses = 0;
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
    resolve({ statusCode, headers, body: body.read(), bodyTruncated, phases });
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
        headers = withoutRepeats(received);
        phases = { ...phases, firstByteMs: Math.round(performance.now() - sentAt) };
      } else if (++informationalResponses > MAX_INFORMATIONAL_RESPONSES) stop(new EgressError('protocol_error'));
    },
    onResponseData(_controller, chunk) {
      if (isSettled) return;
      if (body.add(chunk)) return;
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

/** The headers that are read here and can occur only once. */
const SINGLE = ['date', 'location', 'retry-after'] as const;

/** undici returns a list for every header that is repeated. Like Node, this keeps the first value of these headers. */
function withoutRepeats(received: IncomingHttpHeaders): IncomingHttpHeaders {
  const repeated = SINGLE.filter((name) => Array.isArray(received[name]));
  if (repeated.length === 0) return received;
  return { ...received, ...Object.fromEntries(repeated.map((name) => [name, received[name]![0]])) };
}

/**
 * Copies a body into one growing buffer. Chunks aren't kept, because each is an object, and keeps everything else in
 * memory that arrived with it, such as the extensions of chunks.
 */
function createBody(maxBytes: number) {
  const maxChunks = MAX_SMALL_CHUNKS + Math.floor(maxBytes / MIN_AVERAGE_CHUNK_BYTES);
  let buffer = Buffer.alloc(0);
  let bytes = 0;
  let chunkCount = 0;

  return {
    /** @returns false if the rest of the body must not be read. */
    add(chunk: Buffer): boolean {
      const fitting = Math.min(chunk.length, maxBytes - bytes);
      if (bytes + fitting > buffer.length) {
        const size = Math.min(Math.max(bytes + fitting, 2 * buffer.length), maxBytes);
        buffer = Buffer.concat([buffer.subarray(0, bytes)], size);
      }
      chunk.copy(buffer, bytes, 0, fitting);
      bytes += fitting;
      return fitting === chunk.length && ++chunkCount < maxChunks;
    },
    read: (): Buffer => buffer.subarray(0, bytes),
  };
}
