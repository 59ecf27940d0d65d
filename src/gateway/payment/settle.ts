import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LeaseLost, leaseOf, type PaymentLease, type Reconciled, reconciledOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { atomicOf } from '../../features/payments/payload.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { createLru } from '../../lru.ts';
import type { ChainOutcome } from '../chain/chain.ts';
import { FACILITATOR_REJECTED, type FacilitatorRequest, type FacilitatorSettlement } from '../chain/facilitator.ts';
import { createResends } from './resends.ts';
import type { Settlements } from './settlements.ts';
import { SETTLEMENT_SECONDS } from './terms.ts';

export type SettleResult =
  | { kind: 'settled'; transactionHash: string }
  | { kind: 'failed'; reason: string }
  /** `isDenied`: according to the facilitator, nothing was charged. Only the chain can confirm that. */
  | { kind: 'unresolved'; isDenied: boolean; transactionHash?: string };

export type Settler = ReturnType<typeof createSettler>;

/**
 * How long to retry a settlement while the facilitator is failing, and to wait for a transaction that it has sent. A buyer
 * may be waiting.
 */
const RETRY_MILLISECONDS = 15_000;
const FIRST_PAUSE_MILLISECONDS = 250;
/** The longest pause between two lookups of such a transaction: about one block. */
const MAX_LOOKUP_PAUSE_MILLISECONDS = 2_000;

const NETWORK_NOT_SERVED = 'network_not_served';
/** How long to wait before another process may take over a payment on a network that this one doesn't serve. */
const NETWORK_CHECK_SECONDS = 60;

/** How long buyers who retry get the result of the last lookup. They are asked to wait longer. */
const REUSED_MILLISECONDS = 2_000;
const MAX_REMEMBERED = 10_000;

type Unsettled = Exclude<FacilitatorSettlement, { kind: 'settled' }>;

/** Settles served payments, and looks up payments whose settlement outcome is unclear. */
export function createSettler(options: { ledger: Ledger; settlements: Settlements; log: Logger; now: () => Date }) {
  const { ledger, settlements, log, now } = options;
  const running = new Map<string, Promise<SettleResult>>();
  /** When payments were last looked up and stayed unresolved. */
  const unresolved = createLru<{ result: SettleResult; at: number }>(MAX_REMEMBERED);
  const resends = createResends({ now });

  async function send(payment: Payment, accountId: string = payment.projectId): Promise<FacilitatorSettlement> {
    const { facilitator } = settlements.get(payment.network)!;
    const settlement = await facilitator.settle(payment.authorization as FacilitatorRequest, accountId);
    if (settlement.kind === 'settled') return settlement;
    if (settlement.kind === 'ambiguous' || settlement.kind === 'refused') resends.count(payment.id);
    const level = settlement.reason === FACILITATOR_REJECTED ? 'error' : 'warn';
    log[level]({ paymentId: payment.id, ...settlement }, "a settlement didn't succeed");
    return settlement;
  }

  /**
   * Sends the settlement, and retries it as long as the facilitator is failing and the authorization is unused. This is
   * safe, because the chain accepts an authorization only once.
   */
  async function sendUntilClear(
    payment: Payment,
    lease: PaymentLease,
    { isFirstAttempt, accountId }: { isFirstAttempt: boolean; accountId?: string | undefined },
  ): Promise<SettleResult> {
    const lastChance = payment.validBefore.getTime() - SETTLEMENT_SECONDS * 1000;
    const retryUntil = Math.min(now().getTime() + RETRY_MILLISECONDS, lastChance);
    let isFirst = isFirstAttempt;
    for (let pause = FIRST_PAUSE_MILLISECONDS; ; pause *= 2) {
      const reply = await send(payment, accountId);
      if (reply.kind === 'settled') return book(payment, reply.transactionHash, now());
      const waitMilliseconds = Math.max(pause, retryAfterOf(reply) * 1000);
      const isRetried =
        (reply.kind === 'notSent' || reply.kind === 'unavailable') && now().getTime() + waitMilliseconds <= retryUntil;
      if (!isRetried) {
        const seen = await (isFirstAttempt && mayStillLand(reply) ? watch(payment, retryUntil) : lookUp(payment));
        return decide(seen, payment, lease, { ...reply, isFirstAttempt: isFirst });
      }
      await sleep(waitMilliseconds);
      if (reply.kind === 'notSent') continue;
      // This attempt may have reached the chain.
      isFirst = false;
      const seen = await lookUp(payment);
      if (seen?.kind !== 'unused' || seen.isExpired)
        return decide(seen, payment, lease, { ...reply, isFirstAttempt: isFirst });
    }
  }

  async function lookUp(payment: Payment): Promise<ChainOutcome | undefined> {
    try {
      return await settlements.get(payment.network)!.chain.outcomeOf({
        assetAddress: payment.assetAddress as `0x${string}`,
        payer: payment.payer as `0x${string}`,
        payTo: payment.payTo as `0x${string}`,
        nonce: payment.nonce as `0x${string}`,
        amountAtomic: atomicOf(payment.amountAtomic),
        since: payment.createdAt,
        validBefore: payment.validBefore,
      });
    } catch (error) {
      log.warn({ err: error, paymentId: payment.id }, "couldn't look up a payment on the chain");
      return undefined;
    }
  }

  /** Looks up a payment until the chain has a result, or until this time in milliseconds. */
  async function watch(payment: Payment, until: number): Promise<ChainOutcome | undefined> {
    for (let pause = FIRST_PAUSE_MILLISECONDS; ; pause = Math.min(pause * 2, MAX_LOOKUP_PAUSE_MILLISECONDS)) {
      const seen = await lookUp(payment);
      const isFinal = seen !== undefined && (seen.kind !== 'unused' || seen.isExpired);
      if (isFinal || now().getTime() + pause > until) return seen;
      await sleep(pause);
    }
  }

  /**
   * Records a settlement that has happened, even if another process owns the payment. If recording fails, the buyer has
   * still paid: the payment keeps its status, and the settlement is recorded once a process takes over the payment.
   */
  async function book(payment: Payment, transactionHash: string, settledAt: Date): Promise<SettleResult> {
    await ledger.settled(reconciledOf(payment), { transactionHash, settledAt }).catch((error) => {
      log.error(
        { err: error, paymentId: payment.id, transactionHash },
        "couldn't record a settlement; it will be recorded later",
      );
    });
    return { kind: 'settled', transactionHash };
  }

  async function fail(by: PaymentLease | Reconciled, reason: string, message: string): Promise<SettleResult> {
    await ledger.failed(by, { stage: 'SETTLE', reason, message });
    return { kind: 'failed', reason };
  }

  /** Asks the chain, then determines a payment's outcome. */
  async function conclude(
    payment: Payment,
    lease: PaymentLease | undefined,
    reply?: Unsettled & { isFirstAttempt: boolean },
  ): Promise<SettleResult> {
    return decide(await lookUp(payment), payment, lease, reply);
  }

  /**
   * Determines a payment's outcome from the chain, or from the facilitator's response if the chain has no result.
   *
   * @param lease the lease of the process that owns the payment. Without it, an unresolved payment stays unchanged.
   */
  async function decide(
    seen: ChainOutcome | undefined,
    payment: Payment,
    lease: PaymentLease | undefined,
    reply?: Unsettled & { isFirstAttempt: boolean },
  ): Promise<SettleResult> {
    const fact = reconciledOf(payment);
    if (seen?.kind === 'settled') return book(payment, seen.transactionHash, seen.settledAt);
    if (seen?.kind === 'voided') {
      return fail(fact, seen.reason, 'The payer used the authorization elsewhere or canceled it.');
    }
    if (seen?.isExpired) return fail(fact, 'authorization_expired', 'The authorization expired without being used.');
    // On a first attempt, nothing else can be on its way to the chain, unless another process took over the payment.
    if (lease && reply?.kind === 'refused' && reply.isFirstAttempt) return fail(lease, reply.reason, reply.message);
    const hash = reply?.kind === 'ambiguous' ? reply.transactionHash : (payment.transactionHash ?? undefined);
    if (lease) {
      const reason = reply?.reason ?? payment.failureReason ?? 'interrupted';
      await ledger.unknown(lease, { reason, ...(hash && { transactionHash: hash }) }).catch((error) => {
        // Another process may own the payment now. For this process, it stays unresolved.
        if (!(error instanceof LeaseLost)) throw error;
      });
    }
    const isDenied = reply?.kind === 'refused' || (reply?.kind === 'ambiguous' && reply.isDenied);
    return { kind: 'unresolved', isDenied, ...(hash && { transactionHash: hash }) };
  }

  /**
   * Leaves a payment UNKNOWN until a process that serves its network takes it over, because only a lookup on that
   * network shows whether the buyer has paid.
   */
  async function shelve(payment: Payment, lease: PaymentLease | undefined): Promise<SettleResult> {
    log.error(
      { paymentId: payment.id, network: payment.network },
      "a payment can't be resolved because this server no longer serves its network; add the network to NETWORKS",
    );
    if (lease) {
      const why = { reason: NETWORK_NOT_SERVED, nextCheckSeconds: NETWORK_CHECK_SECONDS };
      await ledger.unknown(lease, why);
    }
    return { kind: 'unresolved', isDenied: false };
  }

  /** Runs one operation per payment at a time, because buyers retry requests. */
  function once(payment: Payment, run: () => Promise<SettleResult>): Promise<SettleResult> {
    const known = running.get(payment.id);
    if (known) return known;
    const result = run().finally(() => running.delete(payment.id));
    running.set(payment.id, result);
    return result;
  }

  function remember({ id }: Payment, result: SettleResult): SettleResult {
    if (result.kind === 'unresolved') unresolved.set(id, { result, at: now().getTime() });
    else unresolved.delete(id);
    return result;
  }

  return {
    /**
     * Sends a settlement for the first time: SETTLING → SETTLED, FAILED, or UNKNOWN. Payments that are settled before
     * the upstream is called arrive here as VERIFIED. The lease must be held.
     *
     * @param accountId the seller's account, if known. Otherwise, the project takes its own turns at the facilitator.
     * @throws LeaseLost if another process owns the payment, either before anything is sent or by the time the
     * facilitator rejects it.
     */
    settle(payment: Payment, accountId?: string): Promise<SettleResult> {
      return once(payment, async () => {
        const lease = leaseOf(payment);
        if (payment.status === 'VERIFIED' || payment.status === 'SERVED') await ledger.settling(lease, payment.status);
        if (!settlements.has(payment.network)) return shelve(payment, lease);
        return sendUntilClear(payment, lease, { isFirstAttempt: true, accountId });
      });
    },

    /**
     * SETTLING or UNKNOWN → the chain's result, or else UNKNOWN. If there is no result yet, but there is enough time,
     * the settlement is sent again, with growing pauses, or for the first time if a process died before it could send
     * it. The chain accepts an authorization only once.
     *
     * @param lease the lease of the process that owns the payment. Without it, an unresolved payment stays unchanged.
     * Buyers can retry as often as they like, so it also isn't looked up again right after the last lookup.
     */
    async resolve(payment: Payment, lease?: PaymentLease): Promise<SettleResult> {
      const recent = lease ? undefined : unresolved.get(payment.id);
      if (recent && now().getTime() - recent.at < REUSED_MILLISECONDS) return recent.result;
      const result = await once(payment, async () => {
        if (!settlements.has(payment.network)) return shelve(payment, lease);
        const remainingSeconds = (payment.validBefore.getTime() - now().getTime()) / 1000;
        const isResent = remainingSeconds >= SETTLEMENT_SECONDS && resends.mayResend(payment.id);
        const first = await conclude(payment, isResent ? undefined : lease);
        if (first.kind !== 'unresolved' || !isResent) return first;
        if (lease) return sendUntilClear(payment, lease, { isFirstAttempt: false });
        const reply = await send(payment);
        if (reply.kind === 'settled') return book(payment, reply.transactionHash, now());
        return conclude(payment, undefined, { ...reply, isFirstAttempt: false });
      });
      return remember(payment, result);
    },
  };
}

/** Whether the facilitator may have sent a transaction that isn't in a block yet. */
function mayStillLand(reply: Unsettled): boolean {
  return reply.kind === 'ambiguous' && !reply.isDenied;
}

/** In seconds. */
function retryAfterOf(reply: Unsettled): number {
  return (reply.kind === 'unavailable' && reply.retryAfterSeconds) || 0;
}
