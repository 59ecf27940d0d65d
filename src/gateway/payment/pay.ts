import type { Logger } from 'pino';
import { AppError, notFound } from '../../errors.ts';
import { LeaseLost, leaseOf, PaymentGone } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Attempt } from '../../limits/failed-credentials.ts';
import { describeSpan, inSpan, type SpanOptions } from '../../tracing/tracer.ts';
import { FACILITATOR_REJECTED } from '../chain/facilitator.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayResponse, refusal } from '../upstream/gateway-response.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import type { CallPaid } from './call-paid.ts';
import { holdingLease, LEASE_SECONDS } from './hold-lease.ts';
import { facilitatorRequest } from './match-terms.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentFailureHeaders, paymentResponseHeaders } from './payment-response.ts';
import { unresolvedRefusal } from './refusals.ts';
import type { SettleResult, Settler } from './settle.ts';
import type { Verify } from './verify.ts';

export type PaymentStep = 'claim' | 'verify' | 'upstream' | 'settle';

/** Called with the duration of each step, even if the step failed. */
export type OnPaymentStep = (step: PaymentStep, seconds: number) => void;

export type PayOptions = {
  ledger: Ledger;
  verify: Verify;
  callPaid: CallPaid;
  settler: Settler;
  network: Network;
  /** Responds to a request with a payment that was presented before. */
  repeat(payment: Payment, request: PaidRequest): Promise<GatewayResponse>;
  log: Logger;
  onStep?: OnPaymentStep;
  now?: () => Date;
};

const KEEP_SECONDS = 24 * 3600;
/** Larger responses are kept for only an hour, because storing them is costly and buyers retry soon. */
const KEPT_LONG_BYTES = 256 * 1024;
const KEEP_LARGE_SECONDS = 3600;

/**
 * Takes a payment through its lifecycle: claim → verify → upstream → settle → respond. The upstream's response is
 * withheld until the settlement succeeds, and kept in case the buyer retries the request with the same payment.
 */
export function createPay(options: PayOptions) {
  const { ledger, verify, callPaid, settler, network, log, onStep, now = () => new Date() } = options;

  /** @throws AppError if there is no response to return. The payment's record says what happened. */
  async function pay(request: PaidRequest): Promise<GatewayResponse> {
    if (request.unmet !== undefined) {
      const known = await ledger.find(authorizationOf(request));
      return known ? options.repeat(known, request) : request.demand(request.unmet);
    }
    const attempt = await request.reserve().catch(async (error) => {
      // Don't withhold a paid response because of other buyers behind the same address.
      const known = await ledger.find(authorizationOf(request));
      if (!known) throw error;
      return known;
    });
    if ('id' in attempt) return options.repeat(attempt, request);
    return carry(request, attempt).finally(attempt.giveBack);
  }

  async function carry(request: PaidRequest, attempt: Attempt): Promise<GatewayResponse> {
    const claim = await inStep('claim', {}, () => ledger.claim(newPayment(request)));
    describeSpan({ 'tollgate.payment.id': claim.payment.id, 'tollgate.payment.claim': claim.kind });
    if (claim.kind === 'existing') {
      attempt.giveBack();
      return options.repeat(claim.payment, request);
    }
    const lease = leaseOf(claim.payment);
    return holdingLease(ledger, lease, async (lost) => {
      const verified = await inStep('verify', {}, () => verify(claim.payment, request));
      if (verified.kind === 'refused') {
        attempt.fail();
        return verified.response;
      }
      attempt.giveBack();
      const { payment } = verified;
      const attributes = {
        'http.request.method': request.method,
        'server.address': new URL(request.target.origin).hostname,
      };
      const result = await inStep('upstream', { kind: 'client', attributes }, () => callPaid(payment, request, lost));
      if (result.kind === 'unpaid') return result.response;
      const { statusCode, headers, body, durationMs, requestBodyDigest } = result.response;
      await ledger.served(lease, {
        statusCode,
        headers,
        body,
        durationMs,
        keepUntil: new Date(now().getTime() + keepSeconds(body) * 1000),
        ...(requestBodyDigest && { requestFingerprint: request.fingerprint(requestBodyDigest) }),
      });
      return inStep('settle', {}, () => settle({ ...payment, status: 'SETTLING' }, request, result.response));
    }).catch((error) => {
      if (error instanceof PaymentGone) throw notFound();
      if (error instanceof AppError) throw error;
      // Without the database, the outcome is unknown, and the buyer must not pay again.
      if (!(error instanceof LeaseLost))
        log.error({ err: error, paymentId: claim.payment.id }, 'a payment was interrupted');
      throw unresolved(claim.payment);
    });
  }

  async function inStep<T>(step: PaymentStep, span: SpanOptions, run: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await inSpan(`payment ${step}`, () => span, run);
    } finally {
      onStep?.(step, (performance.now() - startedAt) / 1000);
    }
  }

  function authorizationOf({ payment: { authorization } }: PaidRequest) {
    const { from: payer, nonce } = authorization;
    return { network: network.id, assetAddress: network.asset.address, payer, nonce };
  }

  function newPayment(request: PaidRequest) {
    const { route, resource, method, payment, fingerprint } = request;
    const { authorization, x402Version } = payment;
    return {
      ...authorizationOf(request),
      projectId: route.projectId,
      endpointId: route.endpointId,
      endpointPath: route.path,
      method,
      x402Version,
      asset: network.asset.symbol,
      payTo: route.payTo,
      amountAtomic: authorization.value,
      validAfter: new Date(authorization.validAfter * 1000),
      validBefore: new Date(authorization.validBefore * 1000),
      authorization: facilitatorRequest(network, route, resource, payment),
      requestFingerprint: fingerprint(null),
      leaseSeconds: LEASE_SECONDS,
    };
  }

  async function settle(payment: Payment, request: PaidRequest, response: UpstreamResponse): Promise<GatewayResponse> {
    const result = await settler.settle(payment).catch((error): SettleResult => {
      if (error instanceof PaymentGone) throw error;
      if (!(error instanceof LeaseLost))
        log.error({ err: error, paymentId: payment.id }, 'a settlement was interrupted');
      return { kind: 'unresolved', isDenied: false };
    });
    // The upstream did the work, but won't be paid for it.
    if (result.kind === 'failed' || (result.kind === 'unresolved' && result.isDenied)) request.onUnpaid();
    if (result.kind === 'unresolved') throw unresolved(payment, result.transactionHash);
    if (result.kind === 'failed') {
      const failure = paymentFailureHeaders(network, payment, result.reason);
      if (result.reason === FACILITATOR_REJECTED) throw refusal('FACILITATOR_REJECTED', failure);
      const demand = request.demand(result.reason);
      return { ...demand, headers: { ...demand.headers, ...failure } };
    }
    const { statusCode, headers, body } = response;
    const { transactionHash } = result;
    const receipt = paymentResponseHeaders(network, payment, { success: true, transactionHash });
    return { statusCode, headers: { ...headers, ...receipt }, body };
  }

  function unresolved(payment: Payment, transactionHash?: string): AppError {
    return unresolvedRefusal(network, payment, transactionHash);
  }

  return pay;
}

function keepSeconds(body: Buffer): number {
  return body.length > KEPT_LONG_BYTES ? KEEP_LARGE_SECONDS : KEEP_SECONDS;
}
