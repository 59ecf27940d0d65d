import type { Logger } from 'pino';
import { AppError, notFound } from '../../errors.ts';
import { LeaseLost, leaseOf, PaymentGone } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { CredentialAttempt } from '../../limits/failed-credentials.ts';
import { describeSpan, inSpan, type SpanOptions } from '../../tracing/tracer.ts';
import { FACILITATOR_REJECTED } from '../chain/facilitator.ts';
import type { UpstreamResponse } from '../upstream/call.ts';
import { type PaidResponse, refusal } from '../upstream/gateway-response.ts';
import { BUYER_GONE, GATEWAY_BUSY, upstreamNotAllowed } from '../upstream/upstream-error.ts';
import type { CallPaid } from './call-paid.ts';
import { facilitatorRequest } from './match-terms.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentFailureHeaders, paymentResponseHeaders } from './payment-response.ts';
import { busyRefusal, onHoldRefusal, unresolvedRefusal } from './refusals.ts';
import { LEASE_SECONDS, renewingLease } from './renew-lease.ts';
import type { SettleResult, Settler } from './settle.ts';
import { STREAM_BYTES, type StreamPaid } from './stream-paid.ts';
import type { Verify } from './verify.ts';

export type PaymentStep = 'claim' | 'verify' | 'upstream' | 'settle';

/** Called with the duration of each step, even if the step failed. */
export type OnPaymentStep = (step: PaymentStep, seconds: number) => void;

export type PayOptions = {
  ledger: Ledger;
  verify: Verify;
  callPaid: CallPaid;
  settler: Settler;
  streamPaid: StreamPaid;
  /** Responds to a request with a payment that was presented before. */
  repeat(payment: Payment, request: PaidRequest): Promise<PaidResponse>;
  /**
   * Whether the gateway may call a project's upstream, judging by its URL. The operator can block addresses that used
   * to be allowed.
   */
  isOpen(projectId: string, upstreamUrl: string): boolean;
  /** Whether no payments may be taken or settled now. */
  isOnHold: () => boolean;
  log: Logger;
  onStep?: OnPaymentStep;
  now: () => Date;
};

/** A settled payment. */
type Charged = { payment: Payment; transactionHash: string };

const KEEP_SECONDS = 24 * 3600;
/** Larger responses are kept for only an hour, because storing them is costly and buyers retry soon. */
const KEPT_LONG_BYTES = 256 * 1024;
const KEEP_LARGE_SECONDS = 3600;

/**
 * Takes a payment through its lifecycle: claim → verify → upstream → settle → respond. The upstream's response is
 * withheld until the settlement succeeds, and kept in case the buyer retries the request with the same payment.
 *
 * If the endpoint settles first: claim → verify → settle → upstream. Then the upstream's response is streamed.
 */
export function createPay(options: PayOptions) {
  const { ledger, verify, callPaid, settler, streamPaid, isOpen, isOnHold, log, onStep, now } = options;

  /** @throws AppError if there is no response to return. The payment's record says what happened. */
  async function pay(request: PaidRequest): Promise<PaidResponse> {
    if (isOnHold()) throw onHoldRefusal();
    if (request.payment.identifier !== undefined) {
      const known = await request.lookUp(() => ledger.findIdentified(identifierOf(request)));
      if (known) return options.repeat(known, request);
    }
    const findAuthorized = () => request.lookUp(() => ledger.find(authorizationOf(request)));
    if (request.unmet !== undefined) {
      const known = await findAuthorized();
      return known ? options.repeat(known, request) : request.paymentRequired(request.unmet);
    }
    const attempt = await request.reserve().catch(async (error) => {
      // Other buyers behind the same address must not keep this buyer from getting the response they paid for.
      const known = await findAuthorized();
      if (!known) throw error;
      return known;
    });
    if ('id' in attempt) return options.repeat(attempt, request);
    return processPayment(request, attempt).finally(attempt.giveBack);
  }

  async function processPayment(request: PaidRequest, attempt: CredentialAttempt): Promise<PaidResponse> {
    const claim = await inStep('claim', {}, () => ledger.claim(newPayment(request)));
    describeSpan({ 'tollgate.payment.id': claim.payment.id, 'tollgate.payment.claim': claim.kind });
    if (claim.kind === 'existing') {
      attempt.giveBack();
      return options.repeat(claim.payment, request);
    }
    const lease = leaseOf(claim.payment);
    const result = await renewingLease(ledger, lease, async (lost): Promise<PaidResponse | Charged> => {
      const verified = await inStep('verify', {}, () => verify(claim.payment, request));
      if (verified.kind === 'refused') {
        attempt.fail();
        if (verified.response instanceof AppError) throw verified.response;
        return verified.response;
      }
      attempt.giveBack();
      const { payment } = verified;
      if (payment.settlement === 'BEFORE_REQUEST') return chargeFirst(payment, request);
      const result = await inStep('upstream', spanOf(request), () => callPaid(payment, request, lost));
      if (result.kind === 'unpaid') return result.response;
      const { statusCode, headers, body, durationMs, requestBodyDigest } = result.response;
      await ledger.served(lease, {
        statusCode,
        headers,
        body,
        durationMs,
        keepUntil: new Date(now().getTime() + keepSeconds(body) * 1000),
        ...(requestBodyDigest && {
          requestFingerprint: request.fingerprint(request.bodyDigest ?? requestBodyDigest),
        }),
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
    if (!('transactionHash' in result)) return result;
    const { payment, transactionHash } = result;
    return inStep('upstream', spanOf(request), () => streamPaid(payment, transactionHash, request));
  }

  /** Settles a payment before calling the upstream, unless nobody would receive the response. */
  async function chargeFirst(payment: Payment, request: PaidRequest): Promise<PaidResponse | Charged> {
    const { projectId, upstreamUrl } = request.route;
    if (!isOpen(projectId, upstreamUrl)) {
      request.onError();
      const { reason, message, sellerMessage } = upstreamNotAllowed();
      await ledger.failed(leaseOf(payment), { stage: 'UPSTREAM', reason, message: sellerMessage });
      throw refusal('UPSTREAM_FAILED', paymentFailureHeaders(payment, reason), {
        detail: `${message} You weren't charged.`,
      });
    }
    const isGone = request.gone.aborted;
    if (!isGone && request.memory.take(STREAM_BYTES)) return inStep('settle', {}, () => charge(payment, request));
    const [reason, message] = isGone
      ? [BUYER_GONE, 'The buyer closed the connection.']
      : [GATEWAY_BUSY, 'The gateway is holding too many responses right now.'];
    if (isGone) request.onUnpaid();
    await ledger.failed(leaseOf(payment), { stage: 'UPSTREAM', reason, message });
    throw busyRefusal(paymentFailureHeaders(payment, reason));
  }

  async function inStep<T>(step: PaymentStep, span: SpanOptions, run: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await inSpan(`payment ${step}`, () => span, run);
    } finally {
      onStep?.(step, (performance.now() - startedAt) / 1000);
    }
  }

  function authorizationOf({ network, payment: { authorization } }: PaidRequest) {
    const { from: payer, nonce } = authorization;
    return { network: network.id, assetAddress: network.asset.address, payer, nonce };
  }

  function identifierOf({ route, payment: { identifier, authorization } }: PaidRequest) {
    return { projectId: route.projectId, payer: authorization.from, paymentIdentifier: identifier };
  }

  function newPayment(request: PaidRequest) {
    const { route, resource, network, method, payment, fingerprint, bodyDigest = null } = request;
    const { authorization, x402Version } = payment;
    return {
      ...authorizationOf(request),
      ...identifierOf(request),
      settlement: route.settlement,
      endpointId: route.endpointId,
      endpointPath: route.path,
      method,
      x402Version,
      asset: network.asset.symbol,
      payTo: route.payTo,
      amountAtomic: authorization.value,
      validAfter: new Date(authorization.validAfter * 1000),
      validBefore: new Date(authorization.validBefore * 1000),
      // This is stored without the declarations, which are only for catalogs.
      authorization: facilitatorRequest(network, route, resource, payment),
      requestFingerprint: fingerprint(bodyDigest),
      leaseSeconds: LEASE_SECONDS,
    };
  }

  async function settle(payment: Payment, request: PaidRequest, response: UpstreamResponse): Promise<PaidResponse> {
    const charged = await charge(payment, request);
    if (!('transactionHash' in charged)) return charged;
    const { statusCode, headers, body } = response;
    const { transactionHash } = charged;
    const receipt = paymentResponseHeaders(payment, { success: true, transactionHash });
    return { statusCode, headers: { ...headers, ...receipt }, body };
  }

  /** Settles a payment. Returns a 402 if that failed. @throws AppError if the outcome is unknown. */
  async function charge(payment: Payment, request: PaidRequest): Promise<PaidResponse | Charged> {
    const { route, resource, network, declarations } = request;
    const authorization = facilitatorRequest(network, route, resource, request.payment, declarations);
    const advertised = { ...payment, authorization: authorization as Payment['authorization'] };
    const result = await settler.settle(advertised, route.accountId).catch((error): SettleResult => {
      if (error instanceof PaymentGone) throw error;
      if (!(error instanceof LeaseLost))
        log.error({ err: error, paymentId: payment.id }, 'a settlement was interrupted');
      return { kind: 'unresolved', isDenied: false };
    });
    // Unless payments are settled first, the upstream has done the work and won't be paid for it.
    if (result.kind === 'failed' || (result.kind === 'unresolved' && result.isDenied)) request.onUnpaid();
    if (result.kind === 'unresolved') throw unresolved(payment, result.transactionHash);
    if (result.kind === 'failed') {
      const failure = paymentFailureHeaders(payment, result.reason);
      if (result.reason === FACILITATOR_REJECTED) throw refusal('FACILITATOR_REJECTED', failure);
      const paymentRequired = await request.paymentRequired(result.reason);
      return { ...paymentRequired, headers: { ...paymentRequired.headers, ...failure } };
    }
    return { payment, transactionHash: result.transactionHash };
  }

  function unresolved(payment: Payment, transactionHash?: string): AppError {
    return unresolvedRefusal(payment, transactionHash);
  }

  return pay;
}

function spanOf({ method, target }: PaidRequest): SpanOptions {
  const attributes = { 'http.request.method': method, 'server.address': new URL(target.origin).hostname };
  return { kind: 'client', attributes };
}

function keepSeconds(body: Buffer): number {
  return body.length > KEPT_LONG_BYTES ? KEEP_LARGE_SECONDS : KEEP_SECONDS;
}
