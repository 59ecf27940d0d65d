import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { AppError } from '../../errors.ts';
import { leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { restoreId } from '../mcp/call-id.ts';
import { toolFailure } from '../mcp/tool-result.ts';
import type { PaidRoute } from '../routing/load-routes.ts';
import type { UpstreamResponse } from '../upstream/call.ts';
import { type GatewayResponse, refusal } from '../upstream/gateway-response.ts';
import type { UpstreamSigner } from '../upstream/signature.ts';
import { callUpstream } from '../upstream/upstream.ts';
import {
  BUYER_GONE,
  BUYER_SLOW,
  GATEWAY_BUSY,
  gatewayBusy,
  statusMessage,
  UPSTREAM_RESPONSE_TOO_LARGE,
  UpstreamError,
} from '../upstream/upstream-error.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentFailureHeaders } from './payment-response.ts';
import { busyRefusal } from './refusals.ts';
import { SETTLEMENT_SECONDS, UPSTREAM_TIMEOUT_SECONDS } from './terms.ts';
import { upstreamRequestFor } from './upstream-request.ts';

/**
 * `served`: the response can be charged for and isn't recorded yet. `unpaid`: the payment has failed, and the buyer
 * isn't charged.
 */
type PaidCallResult = { kind: 'served'; response: UpstreamResponse } | { kind: 'unpaid'; response: GatewayResponse };

/** Failures that buyers can cause after the upstream has started to work. */
const BUYERS_REASONS: ReadonlySet<string> = new Set([BUYER_GONE, BUYER_SLOW]);

export type CallPaid = ReturnType<typeof createCallPaid>;

/** Calls the upstream for a verified payment. If the call fails, the payment fails too, and the buyer isn't charged. */
export function createCallPaid(options: {
  ledger: Ledger;
  /** The connections to use for a project's upstreams. */
  dispatcherOf: (route: PaidRoute) => Dispatcher;
  signer: UpstreamSigner;
  log: Logger;
  now: () => Date;
}) {
  const { ledger, dispatcherOf, signer, log, now } = options;

  /** @throws AppError if there is no response to pass on. */
  return async function callPaid(payment: Payment, request: PaidRequest, lost: AbortSignal): Promise<PaidCallResult> {
    const called = await call(payment, request, lost).catch(async (error) => {
      if (isOfBuyer(error)) request.onUnpaid();
      else if (isUnclear(error, request)) request.onUnclear();
      else if (error.reason !== GATEWAY_BUSY) request.onError();
      throw await recordFailure(payment, error);
    });
    const failure = failureIn(called, request);
    const response = forBuyer(called, request);
    if (!failure) return { kind: 'served', response };
    request.onError();
    return { kind: 'unpaid', response: await passOnUnpaid(payment, response, failure) };
  };

  async function call(payment: Payment, request: PaidRequest, lost: AbortSignal): Promise<UpstreamResponse> {
    const limitSeconds = request.route.timeoutSeconds ?? UPSTREAM_TIMEOUT_SECONDS;
    const remainingSeconds = (payment.validBefore.getTime() - now().getTime()) / 1000 - SETTLEMENT_SECONDS;
    const response = await callUpstream(dispatcherOf(request.route), {
      ...upstreamRequestFor(payment, request, { signer, now }),
      timeoutMilliseconds: Math.max(0, Math.min(limitSeconds, remainingSeconds)) * 1000,
      lost,
      memory: request.memory,
    });
    // From here on, the buyer may be charged.
    if (response.statusCode < 400 && !request.memory.keep()) throw gatewayBusy();
    return response;
  }

  async function recordFailure(payment: Payment, error: unknown): Promise<AppError> {
    log.info({ err: error, paymentId: payment.id }, 'an upstream call failed');
    if (!(error instanceof UpstreamError)) {
      const { message } = error as AppError;
      await ledger.failed(leaseOf(payment), { stage: 'UPSTREAM', reason: 'request_invalid', message });
      return error as AppError;
    }
    const { reason, message, sellerMessage } = error;
    await ledger.failed(leaseOf(payment), { stage: 'UPSTREAM', reason, message: sellerMessage });
    const headers = paymentFailureHeaders(payment, reason);
    if (reason === GATEWAY_BUSY) return busyRefusal(headers);
    return refusal(error.isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED', headers, {
      detail: `${message} You weren't charged. Sign a new payment to try again.`,
      cause: error,
    });
  }

  /** The buyer sees the upstream's error response and isn't charged. */
  async function passOnUnpaid(
    payment: Payment,
    response: UpstreamResponse,
    { reason, message }: { reason: string; message: string },
  ): Promise<GatewayResponse> {
    const { statusCode, headers, body, durationMs } = response;
    await ledger.failed(leaseOf(payment), {
      stage: 'UPSTREAM',
      reason,
      message,
      upstream: { statusCode, durationMs },
    });
    const failure = paymentFailureHeaders(payment, reason);
    // Passing on the upstream's own 402 would tell clients that this payment was rejected and make them pay someone
    // else.
    if (statusCode === 402) {
      throw refusal('UPSTREAM_FAILED', failure, {
        detail: "The API behind this endpoint requires another payment. You weren't charged.",
      });
    }
    return { statusCode, headers: { ...headers, ...failure }, body };
  }
}

/** Why a response isn't charged for, if so. */
function failureIn(response: UpstreamResponse, { toolCallId }: PaidRequest) {
  const { statusCode } = response;
  if (statusCode >= 400) return { reason: 'upstream_error', message: statusMessage(statusCode) };
  const message = toolCallId === undefined ? undefined : toolFailure(response, toolCallId);
  return message === undefined ? undefined : { reason: 'tool_error', message };
}

/** The response with the ID that the buyer gave a tool call. */
function forBuyer(response: UpstreamResponse, { toolCallId }: PaidRequest): UpstreamResponse {
  if (toolCallId === undefined) return response;
  // It describes the body with the ID that the upstream got.
  const { 'content-digest': digest, ...headers } = response.headers;
  return { ...response, headers, body: restoreId(response.body, toolCallId) };
}

/** Whether the buyer caused a failure. */
function isOfBuyer(error: unknown): boolean {
  // The gateway didn't pass on the whole request, because its body is too large.
  if (!(error instanceof UpstreamError)) return true;
  return BUYERS_REASONS.has(error.reason);
}

/** Buyers can choose requests with slow or large responses, but a seller's API can also respond like that to all requests. */
function isUnclear(error: unknown, { memory }: PaidRequest): boolean {
  if (!(error instanceof UpstreamError)) return false;
  if (error.reason === GATEWAY_BUSY) return memory.isOverShare;
  return error.isTimeout || error.reason === UPSTREAM_RESPONSE_TOO_LARGE;
}
