import { type Bus, topics } from '../../bus/bus.ts';
import type { Database } from '../../database/client.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../../database/errors.ts';
import type { WriteBatcher } from '../../database/write-batcher.ts';
import { notFound } from '../../errors.ts';
import type { Payment, PaymentStage, PaymentStatus } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { currentTraceparent } from '../../tracing/tracer.ts';
import type { EventService } from '../events/service.ts';
import type { BuyerLimit } from '../projects/buyers/rules.ts';
import { createFailedDeliveries } from './failed-deliveries.ts';
import { createKeptResponses } from './kept-responses.ts';
import { createLeases, LeaseLost, type PaymentIdentity, type PaymentLease, type Reconciled } from './lease.ts';
import { createPaidCalls } from './paid-calls.ts';
import type {
  AuthorizationKey,
  IdentifierKey,
  NewPayment,
  OnChainSettlement,
  PaymentClaim,
  PaymentFailure,
  PaymentProgress,
  ServedResponse,
} from './payment-record.ts';
import { type ClaimItem, claimStep, FIRST_LEASE, takeOver } from './steps/claim.ts';
import { type BuyerUsage, countStep } from './steps/count.ts';
import { createFailStep, foreignText } from './steps/fail.ts';
import { createFanOut } from './steps/fan-out.ts';
import { alreadyAt, alreadySettled, findHolder, findIdentified, moveToSettling, moveToUnknown } from './steps/move.ts';
import { serveStep } from './steps/serve.ts';
import { createSettleStep } from './steps/settle.ts';
import { createVerifyStep, type KnownFunds, type VerifyResult } from './steps/verify.ts';

export type Ledger = ReturnType<typeof createLedger>;

const SETTLEABLE: readonly PaymentStatus[] = ['SETTLING', 'UNKNOWN'];
/** The statuses that a payment can have when it fails at each stage. */
const FAILS_FROM: Record<PaymentStage, readonly PaymentStatus[]> = {
  VERIFY: ['CLAIMED'],
  UPSTREAM: ['VERIFIED'],
  SETTLE: ['SERVED', 'SETTLING', 'UNKNOWN'],
};
/** How long to wait before looking up an unknown settlement on the chain, because it must be in a block first. */
const NEXT_CHECK_SECONDS = 5;

export type LedgerOptions = {
  db: Database;
  /** Writes the steps of concurrent payments together. */
  batcher: WriteBatcher;
  events: EventService;
  bus: Bus;
  /**
   * How long to lease an abandoned payment when it is taken over. If the lease expires before the payment is resolved,
   * the payment is taken over again.
   */
  recoveryLeaseSeconds?: number;
  /** Called each time a payment's status changes. */
  onStatus?: (payment: PaymentProgress) => void;
  /** The clock for the books, for tests. Defaults to the database's clock, which leases always use. */
  now?: () => Date;
  /** A monotonic clock in milliseconds, for tests. */
  monotonicNow?: (() => number) | undefined;
};

/**
 * The payment lifecycle. Every step is a compare-and-set on the status and the lease, so if two processes both believe
 * they own a payment, one gets `LeaseLost`. Each step is written in one transaction with its events and its entry in
 * the books, and is batched with the same step of other payments. If a step's result is lost, the step can be retried
 * with the same lease and is taken only once.
 *
 * A payment that failed at VERIFY is final but releases its nonce. The real payer can still present the authorization
 * as a new payment, even if someone else tried a forged one first. After any later failure, the nonce stays held: an
 * authorization leads to at most one upstream call.
 */
export function createLedger(options: LedgerOptions) {
  const { db, batcher, events, bus, recoveryLeaseSeconds = 15, onStatus, now, monotonicNow } = options;
  const { pool } = db;
  const claim = batcher.step(claimStep);
  const count = batcher.step(countStep);
  const fanOuts = { verify: createFanOut(), fail: createFanOut() };
  const failedDeliveries = createFailedDeliveries(pool, [fanOuts.fail, fanOuts.verify], monotonicNow);
  const verify = batcher.step(createVerifyStep(events, fanOuts.verify));
  const serve = batcher.step(serveStep);
  const settle = batcher.step(createSettleStep(events));
  const fail = batcher.step(createFailStep(events, fanOuts.fail));
  const trace = () => currentTraceparent() ?? null;
  const booksTime = () => now?.() ?? null;

  /** Notifies live subscribers, and the workers if events were recorded. */
  function announce(payment: PaymentProgress, hasEvents: boolean): void {
    onStatus?.(payment);
    bus.publish(topics.payments(payment.projectId));
    if (hasEvents) events.announce(payment.projectId);
  }

  /** Completes a step that records no events. */
  async function moved(payment: Payment | undefined, lease: PaymentLease, to: PaymentStatus): Promise<Payment> {
    if (!payment) return alreadyAt(pool, lease, to);
    announce(payment, false);
    return payment;
  }

  async function verifyOrReserve(
    lease: PaymentLease,
    cover: { isCovered: boolean; funds: KnownFunds | undefined },
  ): Promise<VerifyResult> {
    const result = await verify({ ...lease, ...cover, traceContext: trace() });
    if (!result) return { kind: 'verified', payment: await alreadyAt(pool, lease, 'VERIFIED') };
    if (result.kind === 'verified') announce(result.payment, true);
    return result;
  }

  async function takeOverAbandoned(item: ClaimItem): Promise<Payment | undefined> {
    // A violation means that another payment holds the identifier.
    return takeOver(pool, item).catch((error) => (isUniqueViolation(error) ? undefined : rejectUnknownProject(error)));
  }

  async function identified(key: IdentifierKey): Promise<Payment | undefined> {
    return key.paymentIdentifier === undefined ? undefined : findIdentified(pool, key);
  }

  return {
    /**
     * Claims an authorization's nonce for this request. Across all processes and projects, it can be claimed only once,
     * unless verification failed, or a process died between the claim and the verification. If the payment has an
     * identifier, it is also claimed: a payer can use it once per project, unless the payment failed.
     *
     * @throws AppError `NOT_FOUND` if the project no longer exists.
     */
    async claim(input: NewPayment): Promise<PaymentClaim> {
      const id = newId('Payment');
      const item = { ...input, id, authorization: JSON.stringify(input.authorization) };
      for (;;) {
        const created = await claim(item).catch(rejectUnknownProject);
        if (created) {
          announce(created, false);
          return { kind: 'claimed', payment: created };
        }
        const existing = (await findHolder(pool, input)) ?? (await identified(input));
        if (existing) {
          // If this claim's first result was lost, the payment belongs to this request, unless another request has
          // taken it over.
          if (existing.id === id && existing.leaseToken === FIRST_LEASE) return { kind: 'claimed', payment: existing };
          if (existing.status !== 'CLAIMED') return { kind: 'existing', payment: existing };
          const takenOver = await takeOverAbandoned(item);
          // Another request may have just taken it over, with its own terms.
          if (!takenOver) return { kind: 'existing', payment: (await findHolder(pool, input)) ?? existing };
          announce(takenOver, false);
          return { kind: 'claimed', payment: takenOver };
        }
        // The other payment released the nonce or the identifier between the two statements.
      }
    },

    /**
     * Call this before a new payment is claimed.
     *
     * @throws AppError `RATE_LIMITED` if the client address's network has caused too many failures in the project's
     *   account.
     */
    checkFailures: failedDeliveries.check,

    /** Call this with the client address of a verified payment that has failed, or is about to. */
    countFailureOf: failedDeliveries.countAddress,

    /** The payment that holds an authorization, unless its verification failed. */
    find: (authorization: AuthorizationKey): Promise<Payment | undefined> => findHolder(pool, authorization),

    /** The payment that holds the buyer's identifier, unless it failed. Undefined if there is no identifier. */
    findIdentified: identified,

    /**
     * Counts a CLAIMED payment with a valid authorization toward its buyer's limit in this project, unless that would
     * exceed the limit. It stays counted unless it fails.
     *
     * @returns what the buyer has already used, if the payment isn't counted. @throws LeaseLost
     */
    async countForBuyer(lease: PaymentLease, limit: BuyerLimit): Promise<BuyerUsage | undefined> {
      const result = await count({ ...lease, limit, now: booksTime() }).catch(rejectUnknownProject);
      if (result) return result.isCounted ? undefined : result.usage;
      await alreadyAt(pool, lease, 'CLAIMED');
      throw new LeaseLost(lease.paymentId);
    },

    /**
     * Adds a CLAIMED payment with a valid authorization to its payer's payments in flight. If it is the only one, the
     * verification has already shown that there is enough money, and the payment becomes VERIFIED. It also becomes
     * VERIFIED if the known funds cover all of them.
     *
     * @returns the VERIFIED payment, or else the payer's other payments in flight, across all sellers and processes,
     *   and those settled since the claim. If the payer has too many, the payment isn't added.
     * @throws LeaseLost
     */
    reserveFunds: (lease: PaymentLease, funds?: KnownFunds): Promise<VerifyResult> =>
      verifyOrReserve(lease, { isCovered: false, funds }),

    /** CLAIMED → VERIFIED. Assigns the customer. Records `payment.verified`. @throws LeaseLost */
    async verified(lease: PaymentLease): Promise<Payment> {
      const result = await verifyOrReserve(lease, { isCovered: true, funds: undefined });
      return (result as VerifyResult & { kind: 'verified' }).payment;
    },

    /**
     * VERIFIED → SETTLING, with the upstream's response. The settlement may be sent from now on.
     *
     * @throws LeaseLost
     */
    async served(lease: PaymentLease, response: ServedResponse): Promise<void> {
      const payment = await serve({ ...lease, ...response });
      if (payment) announce(payment, false);
      else await alreadyAt(pool, lease, 'SETTLING');
    },

    /**
     * VERIFIED → SETTLING, for payments that are settled before the upstream is called, or SERVED → SETTLING, for those
     * that an earlier version left SERVED.
     */
    async settling(lease: PaymentLease, from: 'VERIFIED' | 'SERVED'): Promise<void> {
      await moved(await moveToSettling(pool, lease, from), lease, 'SETTLING');
    },

    /**
     * SETTLING or UNKNOWN → SETTLED. Adds the payment to the totals of its customer and its day exactly once. Records
     * `payment.settled`, `customer.first_payment` for the first payment, and `customer.milestone` for each milestone
     * that the customer reaches.
     *
     * If a settlement is confirmed on a later day, it is booked on that day, because finished days aren't reopened.
     *
     * @throws LeaseLost
     */
    async settled(
      by: PaymentLease | Reconciled,
      { transactionHash: hash, settledAt }: OnChainSettlement,
    ): Promise<Payment> {
      const transactionHash = hash.toLowerCase();
      const item = { ...ownerOf(by), transactionHash, settledAt, now: booksTime(), traceContext: trace() };
      const payment = await settle(item);
      if (!payment) return alreadySettled(pool, by, transactionHash);
      announce(payment, true);
      return payment;
    },

    /**
     * → FAILED: nothing was charged. Deletes the unpaid response. Records `payment.failed`, except for failures at
     * VERIFY. Anyone can cause those failures, so the seller isn't notified, and the payments are soon deleted.
     */
    async failed(by: PaymentLease | Reconciled, failure: PaymentFailure): Promise<Payment> {
      const { stage, reason, message, upstream } = failure;
      const from = 'reconciled' in by ? SETTLEABLE : FAILS_FROM[stage];
      const why = { from, stage, reason, message, upstream };
      const payment = await fail({ ...ownerOf(by), ...why, now: booksTime(), traceContext: trace() });
      if (!payment) return alreadyAt(pool, by, 'FAILED', stage);
      announce(payment, stage !== 'VERIFY');
      if (stage !== 'VERIFY') await failedDeliveries.count(payment.projectId);
      return payment;
    },

    /**
     * SETTLING or UNKNOWN → UNKNOWN: the settlement was sent, but its outcome isn't known. After `nextCheckSeconds`,
     * `takeAbandoned` returns the payment so that it can be looked up on the chain.
     */
    async unknown(
      lease: PaymentLease,
      why: { reason: string; transactionHash?: string; nextCheckSeconds?: number },
    ): Promise<Payment> {
      const { reason, transactionHash, nextCheckSeconds = NEXT_CHECK_SECONDS } = why;
      const set = { reason: foreignText(reason, 100), transactionHash: transactionHash?.toLowerCase() ?? null };
      return moved(await moveToUnknown(pool, lease, { ...set, nextCheckSeconds }), lease, 'UNKNOWN');
    },

    ...createLeases(db, recoveryLeaseSeconds),
    ...createKeptResponses(db),
    ...createPaidCalls({ db, announce: (projectId) => bus.publish(topics.payments(projectId)) }),
  };
}

function ownerOf(by: PaymentLease | Reconciled): PaymentIdentity & { leaseToken: number | null } {
  const { paymentId, projectId, payer } = by;
  return { paymentId, projectId, payer, leaseToken: 'reconciled' in by ? null : by.leaseToken };
}

function rejectUnknownProject(error: unknown): never {
  throw isForeignKeyViolation(error) ? notFound() : error;
}
