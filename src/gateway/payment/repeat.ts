import { LeaseLost, leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayResponse, refusal } from '../upstream/gateway-response.ts';
import { digestOf } from '../upstream/request-body.ts';
import { holdingLease, LEASE_SECONDS } from './hold-lease.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentResponseHeaders } from './payment-response.ts';
import { busyRefusal, unresolvedRefusal } from './refusals.ts';
import type { SettleResult, Settler } from './settle.ts';

const IN_PROGRESS_SECONDS = 1;

/**
 * Responds to a request with a payment that was presented before. The same request gets the same response, without a
 * second upstream call or settlement. A different request is rejected.
 */
export function createRepeat({ ledger, settler, network }: { ledger: Ledger; settler: Settler; network: Network }) {
  return async function repeat(payment: Payment, request: PaidRequest): Promise<GatewayResponse> {
    const named = { 'tollgate-payment-id': payment.id };
    if (payment.projectId !== request.route.projectId) throw refusal('PAYMENT_REUSED', {});
    if (payment.status === 'FAILED') {
      return request.demand(`payment_failed: ${payment.failureReason}. You weren't charged. Sign a new payment.`);
    }
    if (!(await isSame(payment, request))) throw refusal('PAYMENT_REUSED', {});
    if (payment.status === 'SETTLED') return stored(payment, request, payment.transactionHash!);

    const result = await resume(payment).catch((error) => {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    });
    if (!result) throw refusal('PAYMENT_IN_PROGRESS', named, { retryAfterSeconds: IN_PROGRESS_SECONDS });
    if (result.kind === 'settled') return stored(payment, request, result.transactionHash);
    if (result.kind === 'failed') return request.demand(`payment_failed: ${result.reason}`);
    throw unresolvedRefusal(network, payment, result.transactionHash);
  };

  /**
   * Whether this is the request that the payment was made for. Bodies are compared only once the first request's body
   * is known.
   */
  async function isSame(payment: Payment, request: PaidRequest): Promise<boolean> {
    const stored = payment.requestFingerprint;
    if (request.fingerprint(null) === stored) return true;
    return request.body !== null && request.fingerprint(await digestOf(request.body)) === stored;
  }

  /** Resumes a payment that no process owns anymore. Returns undefined if a process still owns it. */
  async function resume(payment: Payment): Promise<SettleResult | undefined> {
    if (payment.status === 'UNKNOWN') return settler.resolve(payment);
    if (payment.status !== 'SERVED' && payment.status !== 'SETTLING') return undefined;
    const taken = await ledger.take(payment.id, LEASE_SECONDS);
    if (!taken) return undefined;
    return holdingLease(ledger, leaseOf(taken), async () => {
      if (taken.status === 'SERVED') return settler.settle(taken);
      if (taken.status === 'SETTLING') return settler.resolve(taken, leaseOf(taken));
      return undefined;
    });
  }

  async function stored(payment: Payment, request: PaidRequest, transactionHash: string): Promise<GatewayResponse> {
    const receipt = paymentResponseHeaders(network, payment, { success: true, transactionHash });
    if (!request.hold(await ledger.keptResponseBytes(payment.id), payment.id)) throw busyRefusal(receipt);
    const response = await ledger.keptResponse(payment.id);
    if (!response) throw refusal('PAYMENT_ANSWER_GONE', receipt);
    const { statusCode, headers, body } = response;
    return { statusCode, headers: { ...headers, ...receipt }, body: request.method === 'HEAD' ? '' : body };
  }
}
