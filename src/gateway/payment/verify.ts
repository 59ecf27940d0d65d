import type { Logger } from 'pino';
import { leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { atomicOf } from '../../features/payments/payload.ts';
import type { InFlight } from '../../features/payments/steps/verify.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Chain } from '../chain/chain.ts';
import {
  FACILITATOR_REJECTED,
  type Facilitator,
  FacilitatorError,
  type FacilitatorVerification,
} from '../chain/facilitator.ts';
import type { Network } from '../chain/networks.ts';
import { type GatewayResponse, refusal } from '../upstream/gateway-response.ts';
import { createBalances } from './balances.ts';
import { facilitatorRequest } from './match-terms.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentFailureHeaders } from './payment-response.ts';

export type Verify = ReturnType<typeof createVerify>;

export type Verified = { kind: 'verified'; payment: Payment } | { kind: 'refused'; response: GatewayResponse };

/** How many nonces to look up on the chain. The rest count as not paid yet, which is the safe assumption. */
const MAX_NONCES = 500;
const FUNDS_IN_USE = 'funds_in_use';
const RETRY_SECONDS = 1;

/**
 * Checks that a claimed payment is valid: signed by its payer, and covered by money that none of the payer's other
 * payments need. Until then, nothing proves who sent it.
 */
export function createVerify(options: {
  ledger: Ledger;
  facilitator: Facilitator;
  chain: Chain;
  network: Network;
  log: Logger;
}) {
  const { ledger, facilitator, chain, network, log } = options;
  const walletOf = createBalances(chain);

  /** @throws AppError if verification isn't possible right now, or other payments are using the payer's money. */
  return async function verify(claimed: Payment, request: PaidRequest): Promise<Verified> {
    const wallet = walletOf(claimed);
    const verification = await ask(claimed, request);
    const lease = leaseOf(claimed);
    if (!verification.isValid) {
      const { reason, message } = verification;
      await ledger.failed(lease, { stage: 'VERIFY', reason, message });
      const demand = request.demand(reason);
      const headers = { ...demand.headers, 'tollgate-payment-id': claimed.id };
      return { kind: 'refused', response: { ...demand, headers } };
    }
    const held = await ledger.hold(lease, wallet.lastSeen());
    if ('id' in held) return { kind: 'verified', payment: held };
    if (!(await isCovered(claimed, held, wallet.balance))) {
      const message = "The wallet's balance is needed for other payments in progress.";
      await ledger.failed(lease, { stage: 'VERIFY', reason: FUNDS_IN_USE, message });
      throw refusal('FUNDS_IN_USE', paymentFailureHeaders(network, claimed, FUNDS_IN_USE), {
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
    return { kind: 'verified', payment: await ledger.verified(lease) };
  };

  async function ask(claimed: Payment, { route, resource, payment }: PaidRequest): Promise<FacilitatorVerification> {
    try {
      return await facilitator.verify(facilitatorRequest(network, route, resource, payment));
    } catch (error) {
      if (!(error instanceof FacilitatorError)) throw error;
      const isRejected = error.reason === FACILITATOR_REJECTED;
      log[isRejected ? 'error' : 'warn']({ err: error, paymentId: claimed.id }, "couldn't verify a payment");
      await ledger.failed(leaseOf(claimed), { stage: 'VERIFY', reason: error.reason, message: error.message });
      const headers = paymentFailureHeaders(network, claimed, error.reason);
      if (isRejected) throw refusal('FACILITATOR_REJECTED', headers);
      throw refusal('FACILITATOR_UNAVAILABLE', headers, { retryAfterSeconds: 5 });
    }
  }

  /**
   * Whether the payer's balance covers this payment and the payer's other payments in flight. The payment is recorded
   * before the balance is read, and later payments count it too, so the total in flight never exceeds the balance.
   */
  async function isCovered(
    claimed: Payment,
    others: readonly InFlight[],
    balance: () => Promise<bigint>,
  ): Promise<boolean> {
    try {
      const needed = sumOf(others) + atomicOf(claimed.amountAtomic);
      if ((await balance()) >= needed) return true;
      // Some of the payments being settled may already have left the wallet.
      const { assetAddress, payer } = claimed;
      const wallet = { assetAddress: assetAddress as `0x${string}`, payer: payer as `0x${string}` };
      const nonces = others.slice(0, MAX_NONCES).map(({ nonce }) => nonce);
      const { balanceAtomic, usedNonces } = await chain.fundsOf(wallet, nonces);
      const paid = others.filter(({ nonce }) => usedNonces.has(nonce));
      return balanceAtomic >= needed - sumOf(paid);
    } catch (error) {
      log.warn({ err: error, paymentId: claimed.id }, "couldn't read a payer's balance from the chain");
      return false;
    }
  }
}

function sumOf(payments: readonly InFlight[]): bigint {
  return payments.reduce((sum, { amountAtomic }) => sum + amountAtomic, 0n);
}
