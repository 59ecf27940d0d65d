import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { AppError } from '../errors.ts';
import { MAX_UPSTREAM_SECONDS } from '../features/endpoints/settlement.ts';
import { createAddressLimit } from '../limits/address-limit.ts';
import type { RateLimiter } from '../limits/rate-limit.ts';
import { inSpan, traceHeaders } from '../tracing/tracer.ts';
import { restoringIds } from './mcp/restoring-ids.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { busyRefusal } from './payment/refusals.ts';
import { STREAM_BYTES } from './payment/stream-paid.ts';
import { UPSTREAM_TIMEOUT_SECONDS } from './payment/terms.ts';
import type { PaidRoute } from './routing/load-routes.ts';
import {
  type GatewayResponse,
  type PaidResponse,
  refusal,
  type StreamedResponse,
} from './upstream/gateway-response.ts';
import { meterBody } from './upstream/request-body.ts';
import { streamUpstream } from './upstream/stream-upstream.ts';
import { callUpstream } from './upstream/upstream.ts';
import {
  BUYER_GONE,
  BUYER_SLOW,
  GATEWAY_BUSY,
  GATEWAY_PROXY_FAILED,
  UpstreamError,
} from './upstream/upstream-error.ts';

/** The outcome of a request for a free route. `failed`: the upstream returned no usable response. */
export type FreeOutcome = 'served' | 'failed' | 'limited';

/** A request for a free route. */
export type FreeRequest = Pick<
  PaidRequest,
  'route' | 'method' | 'target' | 'headers' | 'body' | 'gone' | 'closed' | 'memory'
>;

export type CallFree = ReturnType<typeof createCallFree>;

/**
 * The limits for each project and client address. An MCP client sends about five free requests for each session, many
 * clients open a session for each tool call, and some also send pings.
 */
const FREE_REQUESTS_PER_MINUTE: Record<PaidRoute['protocol'], number> = { HTTP: 60, MCP: 600 };
/** MCP servers send notifications on a GET stream, which can be silent until one happens. */
const NOTIFICATION_STREAM_SECONDS = MAX_UPSTREAM_SECONDS.BEFORE_REQUEST;
/** Failures that aren't the upstream's fault. */
const NOT_OF_THE_UPSTREAM: ReadonlySet<string> = new Set([BUYER_GONE, BUYER_SLOW, GATEWAY_BUSY, GATEWAY_PROXY_FAILED]);

/**
 * Serves free routes, and the free requests of MCP routes: limits how often a client address can call them, and forwards
 * requests without a payment. The response is streamed if the route's payments would be settled before the request, or if
 * it is an MCP server's.
 */
export function createCallFree(options: {
  dispatcherOf(request: Pick<FreeRequest, 'route' | 'method'>): Dispatcher;
  rateLimiter: RateLimiter;
  log: Logger;
  onOutcome?: ((outcome: FreeOutcome) => void) | undefined;
}) {
  const { dispatcherOf, rateLimiter, log, onOutcome } = options;
  const limitOf = (protocol: PaidRoute['protocol'], scope: string) =>
    createAddressLimit({
      rateLimiter,
      scope,
      what: 'free requests',
      requestsPerMinute: FREE_REQUESTS_PER_MINUTE[protocol],
    });
  const limits = { HTTP: limitOf('HTTP', 'free'), MCP: limitOf('MCP', 'free mcp') };

  /** The upstream gets no `tollgate-…` headers: a signature would look like proof of a payment. */
  function upstreamRequest({ target, method, headers, gone }: FreeRequest) {
    // Unlike a paid call, a free call is aborted when the client disconnects. Otherwise, anyone could start unlimited
    // work.
    const headersFor = () => ({ ...headers(), ...traceHeaders() });
    return { ...target, method, headersFor, gone, lost: gone };
  }

  async function callAndBuffer(request: FreeRequest): Promise<GatewayResponse> {
    const { body, memory } = request;
    const response = await callUpstream(dispatcherOf(request), {
      ...upstreamRequest(request),
      body,
      memory,
      timeoutMilliseconds: limitMillisecondsOf(request),
    });
    const { statusCode, headers } = response;
    if (statusCode === 402) throw paymentRequiredByUpstream();
    onOutcome?.('served');
    return { statusCode, headers, body: response.body };
  }

  async function callAndStream(request: FreeRequest): Promise<StreamedResponse> {
    const { body, closed, memory } = request;
    if (!memory.take(STREAM_BYTES)) throw busyRefusal({});
    const dispatcher = dispatcherOf(request);
    const stream = await streamUpstream(isNotificationStream(request) ? restoringIds(dispatcher) : dispatcher, {
      ...upstreamRequest(request),
      body: body && meterBody(body),
      idleMilliseconds: limitMillisecondsOf(request),
    });
    if (stream.statusCode === 402) {
      stream.body.destroy();
      throw paymentRequiredByUpstream();
    }
    // In case the body was never read.
    closed.then(() => stream.body.destroy());
    const ended = stream.ended.then(
      () => onOutcome?.('served'),
      // A notification stream always ends like this, unless the client closes it.
      (error) => (isNotificationStream(request) && error.isTimeout ? onOutcome?.('served') : note(error, request)),
    );
    return { ...stream, ended };
  }

  function note(error: unknown, { route, gone }: FreeRequest): void {
    // If the request body is too large, that isn't the upstream's fault.
    if (gone.aborted || !(error instanceof UpstreamError)) return;
    log.info({ err: error, endpointId: route.endpointId }, 'an upstream call failed');
    if (!NOT_OF_THE_UPSTREAM.has(error.reason)) onOutcome?.('failed');
  }

  function refusalOf(error: unknown, request: FreeRequest): unknown {
    if (!(error instanceof UpstreamError)) return error;
    note(error, request);
    if (error.reason === GATEWAY_BUSY) return busyRefusal({});
    return refusal(
      error.isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED',
      {},
      { detail: error.message, cause: error },
    );
  }

  return {
    /** @throws AppError `RATE_LIMITED` */
    async admit(address: string, { projectId, protocol }: Pick<PaidRoute, 'projectId' | 'protocol'>): Promise<void> {
      await limits[protocol].take(address, projectId).catch((error) => {
        if (error instanceof AppError) onOutcome?.('limited');
        throw error;
      });
    },

    /** @throws AppError if there is no response to pass on. */
    async callFree(request: FreeRequest): Promise<PaidResponse> {
      // The body was compared with the body of an earlier request, which turned out to have failed.
      if (request.body?.readableEnded) throw new AppError('UNAVAILABLE', { retryAfterSeconds: 1 });
      const { settlement, protocol } = request.route;
      const call = settlement === 'BEFORE_REQUEST' || protocol === 'MCP' ? callAndStream : callAndBuffer;
      const span = { kind: 'client' as const, attributes: { 'http.request.method': request.method } };
      return inSpan(
        'free upstream',
        () => span,
        (): Promise<PaidResponse> => call(request),
      ).catch((error) => {
        throw refusalOf(error, request);
      });
    },
  };
}

const limitMillisecondsOf = (request: FreeRequest) =>
  1000 *
  (isNotificationStream(request)
    ? NOTIFICATION_STREAM_SECONDS
    : (request.route.timeoutSeconds ?? UPSTREAM_TIMEOUT_SECONDS));

/** Whether a request opens the stream on which an MCP server sends notifications. */
export function isNotificationStream({ route, method }: Pick<FreeRequest, 'route' | 'method'>): boolean {
  return route.protocol === 'MCP' && method === 'GET';
}

/** Passing on the upstream's 402 would make clients pay someone else; see `callPaid`. */
function paymentRequiredByUpstream(): UpstreamError {
  const message = 'The API behind this free endpoint requires a payment.';
  return new UpstreamError('upstream_error', message, { statusCode: 402 });
}
