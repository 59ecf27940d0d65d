import type { Logger } from 'pino';
import type { InFlight } from '../../features/payments/in-flight.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { atomicOf } from '../../features/payments/payload.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Chain } from '../chain/chain.ts';
import { type Facilitator, FacilitatorError, type Verification } from '../chain/facilitator.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayAnswer, refusal } from '../upstream/answer.ts';
import { leaseOf } from './lease.ts';
import { facilitatorRequest } from './match-terms.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentResponseHeaders } from './payment-response.ts';

export type Verify = ReturnType<typeof createVerify>;

export type Verified = { kind: 'verified'; payment: Payment } | { kind: 'refused'; answer: GatewayAnswer };

/** The chain is asked about so many; the others are taken for not paid yet, which is on the safe side. */
const MAX_NONCES = 500;
const FUNDS_IN_USE = 'funds_in_use';
const RETRY_SECONDS = 1;

/**
 * Finds out whether a claimed payment is good: signed by its payer, and covered by money that none of the payer's other
 * payments needs. Nothing before this proves who sent it.
 */
export function createVerify(options: {
  ledger: Ledger;
  facilitator: Facilitator;
  chain: Chain;
  network: Network;
  log: Logger;
}) {
  const { ledger, facilitator, chain, network, log } = options;

  /** @throws AppError when it cannot be verified, or the payer's money is in use, at this moment. */
  return async function verify(claimed: Payment, request: PaidRequest): Promise<Verified> {
    const verification = await ask(claimed, request);
    const lease = leaseOf(claimed);
    if (!verification.isValid) {
      const { reason, message } = verification;
      await ledger.failed(lease, { stage: 'VERIFY', reason, message });
      const answer = request.demand(reason);
      const headers = { ...answer.headers, 'tollgate-payment-id': claimed.id };
      return { kind: 'refused', answer: { ...answer, headers } };
    }
    if (!(await isCovered(claimed))) {
      const message = 'Other payments of the wallet, which are in progress, need the money it has.';
      await ledger.failed(lease, { stage: 'VERIFY', reason: FUNDS_IN_USE, message });
      throw refusal('FUNDS_IN_USE', failureHeaders(claimed, FUNDS_IN_USE), { retryAfterSeconds: RETRY_SECONDS });
    }
    return { kind: 'verified', payment: await ledger.verified(lease) };
  };

  async function ask(claimed: Payment, { route, resource, payment }: PaidRequest): Promise<Verification> {
    try {
      return await facilitator.verify(facilitatorRequest(network, route, resource, payment));
    } catch (error) {
      if (!(error instanceof FacilitatorError)) throw error;
      log.warn({ err: error, paymentId: claimed.id }, 'a payment could not be verified');
      await ledger.failed(leaseOf(claimed), { stage: 'VERIFY', reason: error.reason, message: error.message });
      throw refusal('FACILITATOR_UNAVAILABLE', failureHeaders(claimed, error.reason), { retryAfterSeconds: 5 });
    }
  }

  /**
   * Whether the payer's money is enough for this payment and for all that are in flight. The payment is counted before
   * the money is, and whoever comes later counts it too: so what is in flight never exceeds the money, whatever happens
   * in between.
   */
  async function isCovered(claimed: Payment): Promise<boolean> {
    const others = await ledger.hold(claimed);
    // The facilitator has seen the money for this one, and nothing else takes of it.
    if (others.length === 0) return true;
    try {
      const needed = sumOf(others) + atomicOf(claimed.amountAtomic);
      if ((await fundsOf(claimed, [])).balanceAtomic >= needed) return true;
      // Of what is being settled some may have left the wallet already.
      const { balanceAtomic, usedNonces } = await fundsOf(claimed, others.slice(0, MAX_NONCES));
      const paid = others.filter(({ nonce }) => usedNonces.has(nonce));
      return balanceAtomic >= needed - sumOf(paid);
    } catch (error) {
      log.warn({ err: error, paymentId: claimed.id }, 'the chain could not be asked what a payer has');
      return false;
    }
  }

  function fundsOf({ assetAddress, payer }: Payment, others: InFlight[]) {
    const wallet = { assetAddress: assetAddress as `0x${string}`, payer: payer as `0x${string}` };
    return chain.fundsOf(
      wallet,
      others.map(({ nonce }) => nonce),
    );
  }

  function failureHeaders(payment: Payment, reason: string): Record<string, string> {
    return paymentResponseHeaders(network, payment, { success: false, reason });
  }
}

function sumOf(payments: readonly InFlight[]): bigint {
  return payments.reduce((sum, { amountAtomic }) => sum + amountAtomic, 0n);
}
