import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { getAddress } from 'viem';
import { AppError, notFound } from '../../errors.ts';
import { LeaseLost, PaymentGone } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Attempt } from '../../limits/failed-credentials.ts';
import { describeSpan, inSpan, type SpanOptions, traceHeaders } from '../../tracing/tracer.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayAnswer, refusal } from '../upstream/answer.ts';
import type { UpstreamSigner } from '../upstream/signature.ts';
import { BUYER_GONE, callUpstream, GATEWAY_BUSY, type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts';
import { holdingLease, LEASE_SECONDS, leaseOf } from './lease.ts';
import { facilitatorRequest } from './match-terms.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentResponseHeaders } from './payment-response.ts';
import type { SettleResult, Settler } from './settle.ts';
import { SETTLEMENT_SECONDS, UPSTREAM_TIMEOUT_SECONDS } from './terms.ts';
import type { Verify } from './verify.ts';

export type PaymentStep = 'claim' | 'verify' | 'upstream' | 'settle';

/** Told how long a step of a payment took, however it ended. */
export type OnPaymentStep = (step: PaymentStep, seconds: number) => void;

export type PayOptions = {
  ledger: Ledger;
  verify: Verify;
  settler: Settler;
  dispatcher: Dispatcher;
  signer: UpstreamSigner;
  network: Network;
  /** Answers a request whose payment was presented before. */
  repeat(payment: Payment, request: PaidRequest): Promise<GatewayAnswer>;
  log: Logger;
  onStep?: OnPaymentStep;
  now?: () => Date;
};

const KEEP_SECONDS = 24 * 3600;
/** Larger answers are kept for an hour: they are costly, and a retry comes soon. */
const KEPT_LONG_BYTES = 256 * 1024;
const KEEP_LARGE_SECONDS = 3600;

/**
 * Carries a payment through its life: claim → verify → upstream → settle → answer. The upstream's answer is withheld
 * until the settlement is known, and kept for whoever repeats the request with the same payment.
 */
export function createPay(options: PayOptions) {
  const { ledger, verify, settler, dispatcher, signer, network, log, onStep, now = () => new Date() } = options;

  /** @throws AppError without an answer of the upstream; what has happened is in the payment's record. */
  async function pay(request: PaidRequest): Promise<GatewayAnswer> {
    if (request.unmet !== undefined) {
      const known = await ledger.find(authorizationOf(request));
      return known ? options.repeat(known, request) : request.demand(request.unmet);
    }
    const attempt = await request.reserve().catch(async (error) => {
      // What was paid for is not withheld for what others do behind the same address.
      const known = await ledger.find(authorizationOf(request));
      if (!known) throw error;
      return known;
    });
    if ('id' in attempt) return options.repeat(attempt, request);
    return carry(request, attempt).finally(attempt.giveBack);
  }

  async function carry(request: PaidRequest, attempt: Attempt): Promise<GatewayAnswer> {
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
        return verified.answer;
      }
      attempt.giveBack();
      const { payment } = verified;
      const attributes = {
        'http.request.method': request.method,
        'server.address': new URL(request.target.origin).hostname,
      };
      const answer = await inStep('upstream', { kind: 'client', attributes }, () => call(payment, request, lost));
      if (answer.statusCode >= 400) return passOnUnpaid(payment, answer);
      const { statusCode, headers, body, durationMs, requestBodyDigest } = answer;
      await ledger.served(lease, {
        statusCode,
        headers,
        body,
        durationMs,
        keepUntil: new Date(now().getTime() + keepSeconds(body) * 1000),
        ...(requestBodyDigest && { requestFingerprint: request.fingerprint(requestBodyDigest) }),
      });
      return inStep('settle', {}, () => settle(payment, request, answer));
    }).catch((error) => {
      if (error instanceof PaymentGone) throw notFound();
      if (error instanceof AppError) throw error;
      // Without the database nobody knows what is written there; the buyer must not pay again.
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

  /** The upstream's answer, whatever its status. */
  async function call(payment: Payment, request: PaidRequest, lost: AbortSignal): Promise<UpstreamAnswer> {
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
    try {
      return await callUpstream(dispatcher, {
        ...target,
        method,
        headers: { ...request.headers, ...proof, ...traceHeaders() },
        body: request.body,
        timeoutMilliseconds: Math.max(0, Math.min(UPSTREAM_TIMEOUT_SECONDS, remainingSeconds)) * 1000,
        lost,
        gone: request.gone,
        hold: request.hold,
      });
    } catch (error) {
      if (error instanceof UpstreamError && error.reason === BUYER_GONE) request.onUnpaid();
      throw await upstreamFailed(payment, error);
    }
  }

  async function upstreamFailed(payment: Payment, error: unknown): Promise<AppError> {
    const { reason, message } =
      error instanceof UpstreamError ? error : { reason: 'request_invalid', message: (error as Error).message };
    log.info({ err: error, paymentId: payment.id }, 'an upstream gave no answer');
    await ledger.failed(leaseOf(payment), { stage: 'UPSTREAM', reason, message });
    if (!(error instanceof UpstreamError)) return error as AppError;
    if (reason === GATEWAY_BUSY) return busyRefusal(failureHeaders(payment, reason));
    return refusal(error.isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED', failureHeaders(payment, reason), {
      detail: `${message} Nothing was charged: sign a new payment to try again.`,
      cause: error,
    });
  }

  /** What the upstream refuses or fails at is the buyer's to see, and free. */
  async function passOnUnpaid(payment: Payment, answer: UpstreamAnswer): Promise<GatewayAnswer> {
    const { statusCode, headers, body, durationMs } = answer;
    const reason = 'upstream_error';
    await ledger.failed(leaseOf(payment), {
      stage: 'UPSTREAM',
      reason,
      message: `The upstream answered with status ${statusCode}.`,
      upstream: { statusCode, durationMs },
    });
    // A 402 of its own would have clients believe that this payment was not accepted, and pay somebody else.
    if (statusCode === 402) {
      throw refusal('UPSTREAM_FAILED', failureHeaders(payment, reason), {
        detail: 'The API behind this endpoint asks for another payment. Nothing was charged.',
      });
    }
    return { statusCode, headers: { ...headers, ...failureHeaders(payment, reason) }, body };
  }

  async function settle(payment: Payment, request: PaidRequest, answer: UpstreamAnswer): Promise<GatewayAnswer> {
    const result = await settler.settle(payment).catch((error): SettleResult => {
      if (error instanceof PaymentGone) throw error;
      if (!(error instanceof LeaseLost))
        log.error({ err: error, paymentId: payment.id }, 'a settlement was interrupted');
      return { kind: 'unresolved' };
    });
    if (result.kind === 'unresolved') throw unresolved(payment, result.transactionHash);
    if (result.kind === 'failed') {
      request.onUnpaid();
      const demand = request.demand(result.reason);
      return { ...demand, headers: { ...demand.headers, ...failureHeaders(payment, result.reason) } };
    }
    const { statusCode, headers, body } = answer;
    const { transactionHash } = result;
    const receipt = paymentResponseHeaders(network, payment, { success: true, transactionHash });
    return { statusCode, headers: { ...headers, ...receipt }, body };
  }

  function failureHeaders(payment: Payment, reason: string): Record<string, string> {
    return paymentResponseHeaders(network, payment, { success: false, reason });
  }

  function unresolved(payment: Payment, transactionHash?: string): AppError {
    return unresolvedRefusal(network, payment, transactionHash);
  }

  return pay;
}

/** The answer while nobody knows: never a 402, to which clients would pay once more. */
export function unresolvedRefusal(network: Network, payment: Payment, transactionHash?: string): AppError {
  const headers = paymentResponseHeaders(network, payment, {
    success: false,
    reason: 'settlement_pending',
    transactionHash,
  });
  return refusal('PAYMENT_UNRESOLVED', headers, { retryAfterSeconds: 5 });
}

/** The answer while the memory for answers is used up. */
export function busyRefusal(headers: Record<string, string>): AppError {
  return refusal('UNAVAILABLE', headers, { retryAfterSeconds: 1 });
}

function keepSeconds(body: Buffer): number {
  return body.length > KEPT_LONG_BYTES ? KEEP_LARGE_SECONDS : KEEP_SECONDS;
}
