import { Readable } from 'node:stream';
import { LeaseLost, leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { noCallReasonOf } from '../../features/payments/paid-calls.ts';
import { atomicOf } from '../../features/payments/payload.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { createMemoryRateLimiter } from '../../limits/rate-limit.ts';
import { type GatewayResponse, type PaidResponse, refusal } from '../upstream/gateway-response.ts';
import { digestOf, meterBody, readBody } from '../upstream/request-body.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentResponseHeaders } from './payment-response.ts';
import { busyRefusal, inProgressRefusal, noCallRefusal, unresolvedRefusal } from './refusals.ts';
import { LEASE_SECONDS, renewingLease } from './renew-lease.ts';
import type { SettleResult, Settler } from './settle.ts';
import { STREAM_BYTES, type StreamPaid } from './stream-paid.ts';

const IDENTIFIER_REUSED =
  'This payment identifier was already used for another request. Use a new identifier. Nothing was charged for this one.';
const REPEATED_TOO_OFTEN =
  'The response to this payment was requested too often within a minute. Wait for the number of seconds in `Retry-After`.';

/**
 * How many kilobytes of its stored response a payment can get per minute: enough for a 10 MB response about ten times.
 */
const REPEATED_KILOBYTES_PER_MINUTE = 100 * 1024;

/**
 * Responds to a request with a payment that was presented before. The same request gets the same response, without a
 * second upstream call or settlement. A different request is rejected. Streamed responses aren't stored: the upstream
 * is called again if the buyer has paid and hasn't been served.
 */
export function createRepeat(options: {
  ledger: Ledger;
  settler: Settler;
  streamPaid: StreamPaid;
  /** A monotonic clock, in milliseconds. */
  rateLimitNow?: (() => number) | undefined;
}) {
  const { ledger, settler, streamPaid, rateLimitNow } = options;
  // Each process counts for itself, because it protects its own database connections and its own main thread.
  const repeated = createMemoryRateLimiter({ now: rateLimitNow });

  return async function repeat(payment: Payment, presented: PaidRequest): Promise<PaidResponse> {
    if (payment.projectId !== presented.route.projectId) throw refusal('PAYMENT_REUSED', {});
    if (payment.status === 'FAILED') {
      return presented.paymentRequired(
        `payment_failed: ${payment.failureReason}. You weren't charged. Sign a new payment.`,
      );
    }
    const request = await sameRequest(payment, presented);
    if (!request) {
      const isOwnNonce = payment.nonce === presented.payment.authorization.nonce;
      throw refusal('PAYMENT_REUSED', {}, isOwnNonce ? {} : { detail: IDENTIFIER_REUSED });
    }
    if (payment.status === 'SETTLED') return serve(payment, request, payment.transactionHash!);

    const result = await resume(payment).catch((error) => {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    });
    if (!result) throw inProgressRefusal(payment);
    if (result.kind === 'settled') return serve(payment, request, result.transactionHash);
    if (result.kind === 'failed') return request.paymentRequired(`payment_failed: ${result.reason}`);
    throw unresolvedRefusal(payment, result.transactionHash);
  };

  /**
   * Returns the request if it is the one that the payment was made for. Bodies are compared only once the first
   * request's body is known. If the body may be sent again, it stays in memory.
   */
  async function sameRequest(payment: Payment, request: PaidRequest): Promise<PaidRequest | undefined> {
    const known = payment.requestFingerprint;
    const { bodyDigest } = request;
    if (request.fingerprint(null) === known) return request;
    if (bodyDigest !== undefined) return request.fingerprint(bodyDigest) === known ? request : undefined;
    if (request.body === null) return undefined;
    if (payment.settlement === 'AFTER_RESPONSE') {
      return request.fingerprint(await digestOf(request.body)) === known ? request : undefined;
    }
    // Bodies take memory and can arrive slowly, so they are read only if they may still be needed, and can be dropped.
    const noCall = payment.status === 'SETTLED' ? noCallReasonOf(payment) : undefined;
    if (noCall) throw noCallRefusal(payment, payment.transactionHash!, noCall);
    const body = meterBody(request.body);
    request.memory.mayDrop(() => body.destroy(busyRefusal({ 'tollgate-payment-id': payment.id })));
    const read = await readBody(body, (bytes) => request.memory.take(bytes, payment.id));
    if (!read) throw busyRefusal({ 'tollgate-payment-id': payment.id });
    if (request.fingerprint(read.digest) !== known) return undefined;
    return { ...request, body: Readable.from([read.bytes]) };
  }

  /** Resumes a payment that is no longer owned by any process. Returns undefined if a process still owns it. */
  async function resume(payment: Payment): Promise<SettleResult | undefined> {
    if (payment.status === 'UNKNOWN') return settler.resolve(payment);
    if (payment.status !== 'SERVED' && payment.status !== 'SETTLING') return undefined;
    const taken = await ledger.take(payment.id, LEASE_SECONDS);
    if (!taken) return undefined;
    return renewingLease(ledger, leaseOf(taken), async () => {
      if (taken.status === 'SERVED') return settler.settle(taken);
      if (taken.status === 'SETTLING') return settler.resolve(taken, leaseOf(taken));
      return undefined;
    });
  }

  async function serve(payment: Payment, request: PaidRequest, transactionHash: string): Promise<PaidResponse> {
    if (payment.settlement === 'AFTER_RESPONSE') return stored(payment, request, transactionHash);
    if (!isPaidFor(payment, request))
      throw noCallRefusal(payment, transactionHash, noCallReasonOf(payment) ?? 'replaced');
    if (!request.memory.takeFirmly(STREAM_BYTES, payment.id)) throw busyRefusal({ 'tollgate-payment-id': payment.id });
    return streamPaid(payment, transactionHash, request);
  }

  async function stored(payment: Payment, request: PaidRequest, transactionHash: string): Promise<GatewayResponse> {
    const receipt = paymentResponseHeaders(payment, { success: true, transactionHash });
    const bytes = await ledger.keptResponseBytes(payment.id);
    if (request.gone.aborted || !request.memory.take(bytes, payment.id)) throw busyRefusal(receipt);
    const kilobytes = Math.ceil(bytes / 1024);
    const { allowed, retryAfterSeconds } = await repeated.take(payment.id, REPEATED_KILOBYTES_PER_MINUTE, kilobytes);
    if (!allowed) throw refusal('RATE_LIMITED', receipt, { detail: REPEATED_TOO_OFTEN, retryAfterSeconds });
    const response = await ledger.keptResponse(payment.id);
    if (!response) throw refusal('PAYMENT_RESPONSE_GONE', receipt);
    const { statusCode, headers, body } = response;
    return { statusCode, headers: { ...headers, ...receipt }, body };
  }
}

/**
 * Whether a payment also pays for a call to the endpoint that the request has now. Another endpoint can have been added
 * since, and buyers could otherwise keep calls to paths that don't exist yet, under a cheap `/*`.
 */
function isPaidFor({ endpointId, amountAtomic }: Payment, { route }: PaidRequest): boolean {
  return route.endpointId === endpointId || route.priceAtomic <= atomicOf(amountAtomic);
}
