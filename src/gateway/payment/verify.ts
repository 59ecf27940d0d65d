import type { Logger } from 'pino';
import type { AppError } from '../../errors.ts';
import { leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { atomicOf } from '../../features/payments/payload.ts';
import type { BuyerUsage } from '../../features/payments/steps/count.ts';
import { type InFlight, MAX_IN_FLIGHT, type Reserved } from '../../features/payments/steps/verify.ts';
import type { BuyerLimit } from '../../features/projects/buyers/rules.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { FACILITATOR_REJECTED, FacilitatorError, type FacilitatorVerification } from '../chain/facilitator.ts';
import { type PaidResponse, refusal } from '../upstream/gateway-response.ts';
import { createBalances } from './balances.ts';
import { BUYER_LIMIT_REACHED, limitText } from './buyer-rules.ts';
import { facilitatorRequest } from './match-terms.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentFailureHeaders } from './payment-response.ts';
import type { Settlements } from './settlements.ts';

export type Verify = ReturnType<typeof createVerify>;

/** `refused`: the response, or the error to throw, for a payment that counts as a bad one. */
export type Verified = { kind: 'verified'; payment: Payment } | { kind: 'refused'; response: PaidResponse | AppError };

const FUNDS_IN_USE = 'funds_in_use';
const RETRY_SECONDS = 1;
const NOT_CHARGED = 'Nothing was charged. Wait, then retry the request with the same payment.';

/**
 * Checks that a claimed payment is valid: signed by its payer, within the project's limit for buyers, and covered by
 * money that none of the payer's other payments need. Until then, the sender is unverified.
 */
export function createVerify(options: { ledger: Ledger; settlements: Settlements; log: Logger; now: () => Date }) {
  const { ledger, settlements, log, now } = options;
  const walletsOn = new Map([...settlements].map(([network, { chain }]) => [network, createBalances(chain)]));

  /** @throws AppError if verification isn't possible right now. */
  return async function verify(claimed: Payment, request: PaidRequest): Promise<Verified> {
    const wallet = walletsOn.get(request.network.id)!(claimed);
    const verification = await ask(claimed, request);
    const lease = leaseOf(claimed);
    if (verification instanceof Error) return { kind: 'refused', response: verification };
    if (!verification.isValid) {
      const { reason, message } = verification;
      await ledger.failed(lease, { stage: 'VERIFY', reason, message });
      const paymentRequired = await request.paymentRequired(reason);
      const headers = { ...paymentRequired.headers, 'tollgate-payment-id': claimed.id };
      return { kind: 'refused', response: { ...paymentRequired, headers } };
    }
    const { limit } = request.route.buyers ?? {};
    const usage = limit && (await ledger.countForBuyer(lease, limit));
    if (usage) return { kind: 'refused', response: await overLimit(claimed, request, limit, usage) };
    const reserved = await ledger.reserveFunds(lease, wallet.lastSeen());
    if (reserved.kind === 'verified') return reserved;
    if (reserved.kind === 'full') {
      const message = `The wallet has ${MAX_IN_FLIGHT} payments in progress, which is the maximum.`;
      return { kind: 'refused', response: await inUse(claimed, message, `${message} ${NOT_CHARGED}`) };
    }
    const isCovered = await coverage(claimed, reserved, wallet.balance);
    if (isCovered) return { kind: 'verified', payment: await ledger.verified(lease) };
    const response = await inUse(claimed, "The wallet's balance is needed for other payments in progress.");
    if (isCovered === undefined) throw response;
    return { kind: 'refused', response };
  };

  /** Records that the payment failed because its buyer has reached the project's limit. Returns the 402 response. */
  async function overLimit(
    claimed: Payment,
    request: PaidRequest,
    limit: BuyerLimit,
    usage: BuyerUsage,
  ): Promise<PaidResponse> {
    const message = `The wallet would exceed the limit: it can ${limitText(limit)}.`;
    await ledger.failed(leaseOf(claimed), { stage: 'VERIFY', reason: BUYER_LIMIT_REACHED, message });
    const response = await request.paymentRequired(BUYER_LIMIT_REACHED, usage);
    const seconds = Math.max(1, Math.ceil((usage.resetsAt.getTime() - now().getTime()) / 1000));
    const headers = { ...response.headers, 'retry-after': String(seconds), 'tollgate-payment-id': claimed.id };
    return { ...response, headers };
  }

  /** Records that the payment failed because of the payer's other payments in flight. Returns the error. */
  async function inUse(claimed: Payment, message: string, detail?: string): Promise<AppError> {
    await ledger.failed(leaseOf(claimed), { stage: 'VERIFY', reason: FUNDS_IN_USE, message });
    const headers = paymentFailureHeaders(claimed, FUNDS_IN_USE);
    return refusal('FUNDS_IN_USE', headers, { retryAfterSeconds: RETRY_SECONDS, ...(detail && { detail }) });
  }

  /** Returns the error if the facilitator rejected the request itself. @throws AppError if the facilitator failed. */
  async function ask(claimed: Payment, request: PaidRequest): Promise<FacilitatorVerification | AppError> {
    const { route, resource, network, payment, declarations } = request;
    try {
      const { facilitator } = settlements.get(network.id)!;
      const asked = facilitatorRequest(network, route, resource, payment, declarations);
      return await facilitator.verify(asked, route.accountId);
    } catch (error) {
      if (!(error instanceof FacilitatorError)) throw error;
      const isRejected = error.reason === FACILITATOR_REJECTED;
      log[isRejected ? 'error' : 'warn']({ err: error, paymentId: claimed.id }, "couldn't verify a payment");
      await ledger.failed(leaseOf(claimed), { stage: 'VERIFY', reason: error.reason, message: error.message });
      const headers = paymentFailureHeaders(claimed, error.reason);
      if (isRejected) return refusal('FACILITATOR_REJECTED', headers);
      throw refusal('FACILITATOR_UNAVAILABLE', headers, { retryAfterSeconds: 5 });
    }
  }

  /**
   * Whether the payer's balance covers this payment and the payer's other payments in flight. The payment is recorded
   * before the balance is read, and later payments also count it, so the total in flight never exceeds the balance.
   * Undefined if the chain can't be reached.
   */
  async function coverage(
    claimed: Payment,
    { totalAtomic, others }: Reserved,
    balance: () => Promise<bigint>,
  ): Promise<boolean | undefined> {
    try {
      const needed = totalAtomic + atomicOf(claimed.amountAtomic);
      if ((await balance()) >= needed) return true;
      // The money for some of the payments being settled may already have left the wallet.
      const { assetAddress, payer } = claimed;
      const wallet = { assetAddress: assetAddress as `0x${string}`, payer: payer as `0x${string}` };
      const nonces = others.map(({ nonce }) => nonce);
      const { chain } = settlements.get(claimed.network)!;
      const { balanceAtomic, usedNonces } = await chain.fundsOf(wallet, nonces);
      const paid = others.filter(({ nonce }) => usedNonces.has(nonce));
      return balanceAtomic >= needed - sumOf(paid);
    } catch (error) {
      log.warn({ err: error, paymentId: claimed.id }, "couldn't read a payer's balance from the chain");
      return undefined;
    }
  }
}

function sumOf(payments: readonly InFlight[]): bigint {
  return payments.reduce((sum, { amountAtomic }) => sum + amountAtomic, 0n);
}
