import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LeaseLost, type PaymentLease, type Reconciled } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { atomicOf } from '../../features/payments/payload.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import type { Chain, ChainOutcome } from '../chain/chain.ts';
import type { Facilitator, FacilitatorRequest, Settlement } from '../chain/facilitator.ts';
import { leaseOf } from './lease.ts';
import { SETTLEMENT_SECONDS } from './terms.ts';

export type SettleResult =
  | { kind: 'settled'; transactionHash: string }
  | { kind: 'failed'; reason: string }
  | { kind: 'unresolved'; transactionHash?: string };

export type Settler = ReturnType<typeof createSettler>;

/** While a facilitator cannot be reached at all, nothing is lost by asking again. */
const UNSENT_RETRY_MILLISECONDS = [250, 1_000];

/** Brings served payments to the chain, and finds out what became of those whose settlement gave no clear answer. */
export function createSettler(options: {
  ledger: Ledger;
  facilitator: Facilitator;
  chain: Chain;
  log: Logger;
  now?: () => Date;
}) {
  const { ledger, facilitator, chain, log, now = () => new Date() } = options;
  const running = new Map<string, Promise<SettleResult>>();

  async function send(payment: Payment): Promise<Settlement> {
    const request = payment.authorization as FacilitatorRequest;
    let settlement = await facilitator.settle(request);
    for (const pause of UNSENT_RETRY_MILLISECONDS) {
      if (settlement.kind !== 'notSent') break;
      await sleep(pause);
      settlement = await facilitator.settle(request);
    }
    const { kind } = settlement;
    if (kind !== 'settled') log.warn({ paymentId: payment.id, ...settlement }, 'a settlement gave no success');
    return settlement;
  }

  async function look(payment: Payment): Promise<ChainOutcome | undefined> {
    try {
      return await chain.outcomeOf({
        assetAddress: payment.assetAddress as `0x${string}`,
        payer: payment.payer as `0x${string}`,
        payTo: payment.payTo as `0x${string}`,
        nonce: payment.nonce as `0x${string}`,
        amountAtomic: atomicOf(payment.amountAtomic),
        since: payment.createdAt,
        validBefore: payment.validBefore,
      });
    } catch (error) {
      log.warn({ err: error, paymentId: payment.id }, 'the chain could not be asked about a payment');
      return undefined;
    }
  }

  /**
   * Books what is a fact, whoever has the payment now. When that fails the buyer has paid all the same; the payment is
   * still SETTLING then, and is booked when it is taken over.
   */
  async function book(payment: Payment, transactionHash: string, settledAt: Date): Promise<SettleResult> {
    await ledger.settled({ paymentId: payment.id, reconciled: true }, { transactionHash, settledAt }).catch((error) => {
      log.error({ err: error, paymentId: payment.id, transactionHash }, 'a settled payment was not booked yet');
    });
    return { kind: 'settled', transactionHash };
  }

  async function fail(by: PaymentLease | Reconciled, reason: string, message: string): Promise<SettleResult> {
    await ledger.failed(by, { stage: 'SETTLE', reason, message });
    return { kind: 'failed', reason };
  }

  /**
   * What the chain says counts; what the facilitator said only where the chain is silent.
   *
   * @param lease of whoever carries the payment; without it an unresolved payment stays as it is.
   */
  async function conclude(
    payment: Payment,
    lease: PaymentLease | undefined,
    said?: Exclude<Settlement, { kind: 'settled' }> & { isFirstAttempt: boolean },
  ): Promise<SettleResult> {
    const seen = await look(payment);
    const fact: Reconciled = { paymentId: payment.id, reconciled: true };
    if (seen?.kind === 'settled') return book(payment, seen.transactionHash, seen.settledAt);
    if (seen?.kind === 'voided') {
      return fail(fact, seen.reason, 'The payer has used or cancelled the authorization elsewhere.');
    }
    if (seen?.isExpired) return fail(fact, 'authorization_expired', 'The authorization ended without being used.');
    // Behind a first attempt nothing else can be on its way to the chain, unless somebody has taken the payment over.
    if (lease && said?.kind === 'refused' && said.isFirstAttempt) return fail(lease, said.reason, said.message);
    const hash = said?.kind === 'ambiguous' ? said.transactionHash : (payment.transactionHash ?? undefined);
    if (lease) {
      const reason = said?.reason ?? payment.failureReason ?? 'interrupted';
      await ledger.unknown(lease, { reason, ...(hash && { transactionHash: hash }) }).catch((error) => {
        // Whoever has it now, or nobody: it stays unresolved.
        if (!(error instanceof LeaseLost)) throw error;
      });
    }
    return { kind: 'unresolved', ...(hash && { transactionHash: hash }) };
  }

  /** One at a time a payment: buyers repeat their requests. */
  function once(payment: Payment, run: () => Promise<SettleResult>): Promise<SettleResult> {
    const known = running.get(payment.id);
    if (known) return known;
    const result = run().finally(() => running.delete(payment.id));
    running.set(payment.id, result);
    return result;
  }

  return {
    /**
     * SERVED → SETTLED, FAILED or UNKNOWN. The lease must be held.
     *
     * @throws LeaseLost before anything was sent, and when another process has the payment once it is refused.
     */
    settle(payment: Payment): Promise<SettleResult> {
      return once(payment, async () => {
        const lease = leaseOf(payment);
        await ledger.settling(lease);
        const said = await send(payment);
        if (said.kind === 'settled') return book(payment, said.transactionHash, now());
        return conclude(payment, lease, { ...said, isFirstAttempt: true });
      });
    },

    /** SETTLING or UNKNOWN → what the chain says of it, else UNKNOWN. The lease must be held. */
    resolve: (payment: Payment): Promise<SettleResult> => once(payment, () => conclude(payment, leaseOf(payment))),

    /**
     * UNKNOWN → what the chain says of it; if nothing has happened and there is time, it is settled again, since the
     * buyer who repeats the request still wants it. The chain takes an authorization once.
     */
    retry(payment: Payment): Promise<SettleResult> {
      return once(payment, async () => {
        const first = await conclude(payment, undefined);
        const remainingSeconds = (payment.validBefore.getTime() - now().getTime()) / 1000;
        if (first.kind !== 'unresolved' || remainingSeconds < SETTLEMENT_SECONDS) return first;
        const said = await send(payment);
        if (said.kind === 'settled') return book(payment, said.transactionHash, now());
        return conclude(payment, undefined, { ...said, isFirstAttempt: false });
      });
    },
  };
}
