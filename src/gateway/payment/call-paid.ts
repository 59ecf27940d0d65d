import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { getAddress } from 'viem';
import type { AppError } from '../../errors.ts';
import { leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { traceHeaders } from '../../tracing/tracer.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayResponse, refusal } from '../upstream/gateway-response.ts';
import type { UpstreamSigner } from '../upstream/signature.ts';
import { BUYER_GONE, callUpstream, GATEWAY_BUSY, UpstreamError, type UpstreamResponse } from '../upstream/upstream.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentFailureHeaders } from './payment-response.ts';
import { busyRefusal } from './refusals.ts';
import { SETTLEMENT_SECONDS, UPSTREAM_TIMEOUT_SECONDS } from './terms.ts';

/**
 * `served`: the response can be charged for and isn't recorded yet. `unpaid`: the payment has failed, and the buyer
 * isn't charged.
 */
type PaidCallResult = { kind: 'served'; response: UpstreamResponse } | { kind: 'unpaid'; response: GatewayResponse };

export type CallPaid = ReturnType<typeof createCallPaid>;

/** Calls the upstream for a verified payment. If the call fails, the payment fails too, and the buyer isn't charged. */
export function createCallPaid(options: {
  ledger: Ledger;
  dispatcher: Dispatcher;
  signer: UpstreamSigner;
  network: Network;
  log: Logger;
  now?: () => Date;
}) {
  const { ledger, dispatcher, signer, network, log, now = () => new Date() } = options;

  /** @throws AppError if there is no response to pass on. */
  return async function callPaid(payment: Payment, request: PaidRequest, lost: AbortSignal): Promise<PaidCallResult> {
    const response = await call(payment, request, lost).catch(async (error) => {
      if (error instanceof UpstreamError && error.reason === BUYER_GONE) request.onUnpaid();
      throw await recordFailure(payment, error);
    });
    if (response.statusCode < 400) return { kind: 'served', response };
    return { kind: 'unpaid', response: await passOnUnpaid(payment, response) };
  };

  function call(payment: Payment, request: PaidRequest, lost: AbortSignal): Promise<UpstreamResponse> {
    const { method, target, route } = request;
    const remainingSeconds = (payment.validBefore.getTime() - now().getTime()) / 1000 - SETTLEMENT_SECONDS;
    const proof = signer.headersOf({
      projectId: route.projectId,
      paymentId: payment.id,
      payer: getAddress(payment.payer),
      method,
      target: target.path,
      timestampSeconds: Math.floor(now().getTime() / 1000),
    });
    return callUpstream(dispatcher, {
      ...target,
      method,
      headers: { ...request.headers, ...proof, ...traceHeaders() },
      body: request.body,
      timeoutMilliseconds: Math.max(0, Math.min(UPSTREAM_TIMEOUT_SECONDS, remainingSeconds)) * 1000,
      lost,
      gone: request.gone,
      hold: request.hold,
    });
  }

  async function recordFailure(payment: Payment, error: unknown): Promise<AppError> {
    const { reason, message } =
      error instanceof UpstreamError ? error : { reason: 'request_invalid', message: (error as Error).message };
    log.info({ err: error, paymentId: payment.id }, 'an upstream call failed');
    await ledger.failed(leaseOf(payment), { stage: 'UPSTREAM', reason, message });
    if (!(error instanceof UpstreamError)) return error as AppError;
    const headers = paymentFailureHeaders(network, payment, reason);
    if (reason === GATEWAY_BUSY) return busyRefusal(headers);
    return refusal(error.isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED', headers, {
      detail: `${message} You weren't charged. Sign a new payment to try again.`,
      cause: error,
    });
  }

  /** The buyer sees the upstream's error response and isn't charged. */
  async function passOnUnpaid(payment: Payment, response: UpstreamResponse): Promise<GatewayResponse> {
    const { statusCode, headers, body, durationMs } = response;
    const reason = 'upstream_error';
    await ledger.failed(leaseOf(payment), {
      stage: 'UPSTREAM',
      reason,
      message: `The upstream responded with status ${statusCode}.`,
      upstream: { statusCode, durationMs },
    });
    const failure = paymentFailureHeaders(network, payment, reason);
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
