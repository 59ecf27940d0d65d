import { LeaseLost } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayAnswer, refusal } from '../upstream/answer.ts';
import { digestOf } from '../upstream/request-body.ts';
import { holdingLease, LEASE_SECONDS, leaseOf } from './lease.ts';
import type { PaidRequest } from './paid-request.ts';
import { busyRefusal, unresolvedRefusal } from './pay.ts';
import { paymentResponseHeaders } from './payment-response.ts';
import type { SettleResult, Settler } from './settle.ts';

const IN_PROGRESS_SECONDS = 1;

/**
 * Answers a request whose payment was presented before: the same request gets the same answer, and neither calls the
 * upstream nor settles a second time. Another request is refused.
 */
export function createRepeat({ ledger, settler, network }: { ledger: Ledger; settler: Settler; network: Network }) {
  return async function repeat(payment: Payment, request: PaidRequest): Promise<GatewayAnswer> {
    const named = { 'tollgate-payment-id': payment.id };
    if (payment.projectId !== request.route.projectId) throw refusal('PAYMENT_REUSED', {});
    if (payment.status === 'FAILED') {
      return request.demand(`payment_failed: ${payment.failureReason}. Nothing was charged; sign a new payment.`);
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

  /** Whether it is the request that the payment was made for. Its body counts once the first one's is known. */
  async function isSame(payment: Payment, request: PaidRequest): Promise<boolean> {
    const stored = payment.requestFingerprint;
    if (request.fingerprint(null) === stored) return true;
    return request.body !== null && request.fingerprint(await digestOf(request.body)) === stored;
  }

  /** Goes on with a payment that nobody carries any more; undefined while somebody does. */
  async function resume(payment: Payment): Promise<SettleResult | undefined> {
    if (payment.status === 'UNKNOWN') return settler.retry(payment);
    if (payment.status !== 'SERVED' && payment.status !== 'SETTLING') return undefined;
    const taken = await ledger.take(payment.id, LEASE_SECONDS);
    if (!taken) return undefined;
    return holdingLease(ledger, leaseOf(taken), async () => {
      if (taken.status === 'SERVED') return settler.settle(taken);
      if (taken.status === 'SETTLING') return settler.resolve(taken);
      return undefined;
    });
  }

  async function stored(payment: Payment, request: PaidRequest, transactionHash: string): Promise<GatewayAnswer> {
    const receipt = paymentResponseHeaders(network, payment, { success: true, transactionHash });
    if (!request.hold(await ledger.answerBytes(payment.id), payment.id)) throw busyRefusal(receipt);
    const answer = await ledger.answerOf(payment.id);
    if (!answer) throw refusal('PAYMENT_ANSWER_GONE', receipt);
    const { statusCode, headers, body } = answer;
    return { statusCode, headers: { ...headers, ...receipt }, body: request.method === 'HEAD' ? '' : body };
  }
}
