import { type Bus, topics } from '../../bus/bus.ts';
import type { Database } from '../../database/client.ts';
import { isForeignKeyViolation } from '../../database/errors.ts';
import type { Lane } from '../../database/lane.ts';
import { notFound } from '../../errors.ts';
import { type Payment, type PaymentStage, type PaymentStatus, Prisma } from '../../generated/prisma/client.ts';
import { newId } from '../../ids.ts';
import { currentTraceparent } from '../../tracing/tracer.ts';
import type { EventService } from '../events/service.ts';
import { createKeptResponses } from './kept-responses.ts';
import { createLeases, type PaymentIdentity, type PaymentLease, type Reconciled } from './lease.ts';
import type {
  AuthorizationKey,
  NewPayment,
  OnChainSettlement,
  PaymentClaim,
  PaymentFailure,
  PaymentProgress,
  ServedResponse,
} from './payment-record.ts';
import { claimStep, FIRST_LEASE } from './steps/claim.ts';
import { createFailStep, foreignText } from './steps/fail.ts';
import { alreadyAt, alreadySettled, findHolder, movePayment } from './steps/move.ts';
import { serveStep } from './steps/serve.ts';
import { createSettleStep } from './steps/settle.ts';
import { createVerifyStep, type InFlight, type KnownFunds } from './steps/verify.ts';

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
  lane: Lane;
  events: EventService;
  bus: Bus;
  /**
   * How long to lease an abandoned payment when it is taken over. If the lease ends before the payment is resolved, the
   * payment is taken over again.
   */
  recoveryLeaseSeconds?: number;
  /** Called each time a payment's status changes. */
  onStatus?: (payment: PaymentProgress) => void;
  /** The clock for the books, for tests. Defaults to the database's clock, which leases always use. */
  now?: () => Date;
};

/**
 * The payment lifecycle. Every step is a compare-and-set on the status and the lease, so if two processes both believe
 * they own a payment, one gets `LeaseLost`. Each step is written in one transaction with its events and its entry in
 * the books, and together with the same step of other payments. If a step's result is lost, the step can be retried with
 * the same lease and is taken only once.
 *
 * A payment that failed at VERIFY is final but releases its nonce. The real payer can still present the authorization
 * as a new payment, even if someone else tried a forged one first. After any later failure, the nonce stays held: an
 * authorization leads to at most one upstream call.
 */
export function createLedger({ db, lane, events, bus, recoveryLeaseSeconds = 15, onStatus, now }: LedgerOptions) {
  const claim = lane.step(claimStep);
  const verify = lane.step(createVerifyStep(events));
  const serve = lane.step(serveStep);
  const settle = lane.step(createSettleStep(events));
  const fail = lane.step(createFailStep(events));
  const trace = () => currentTraceparent() ?? null;
  const booksTime = () => now?.() ?? null;

  /** Notifies live subscribers, and the workers if events were recorded. */
  function announce(payment: PaymentProgress, hasEvents: boolean): void {
    onStatus?.(payment);
    bus.publish(topics.payments(payment.projectId));
    if (hasEvents) events.announce(payment.projectId);
  }

  /** Takes a step that records no events. */
  async function step(
    lease: PaymentLease,
    from: readonly PaymentStatus[],
    to: PaymentStatus,
    set: Prisma.Sql,
  ): Promise<Payment> {
    const payment = await movePayment(db.prisma, lease, from, Prisma.sql`"status" = ${to}::"PaymentStatus", ${set}`);
    if (!payment) return alreadyAt(db.prisma, lease, to);
    announce(payment, false);
    return payment;
  }

  async function verifyOrHold(
    lease: PaymentLease,
    cover: { isCovered: boolean; funds: KnownFunds | undefined },
  ): Promise<Payment | InFlight[]> {
    const result = await verify({ ...lease, ...cover, traceContext: trace() });
    if (!result) return alreadyAt(db.prisma, lease, 'VERIFIED');
    if (result.kind === 'held') return result.others;
    announce(result.payment, true);
    return result.payment;
  }

  return {
    /**
     * Claims an authorization's nonce for this request. Across all processes and projects, it can be claimed only once,
     * unless verification failed, or a process died between the claim and the verification.
     *
     * @throws AppError `NOT_FOUND` if the project no longer exists.
     */
    async claim(input: NewPayment): Promise<PaymentClaim> {
      const id = newId('Payment');
      const item = { ...input, id, authorization: JSON.stringify(input.authorization) };
      for (;;) {
        const created = await claim(item).catch((error) => {
          throw isForeignKeyViolation(error) ? notFound() : error;
        });
        if (created) {
          announce(created, false);
          return { kind: 'claimed', payment: created };
        }
        const existing = await findHolder(db, input);
        // If this claim's first result was lost, the payment belongs to this request, unless another request has taken
        // it over.
        if (existing) {
          const isOwn = existing.id === id && existing.leaseToken === FIRST_LEASE;
          return { kind: isOwn ? 'claimed' : 'existing', payment: existing };
        }
        // The other payment released the nonce between the two statements.
      }
    },

    /** The payment that holds an authorization, unless its verification failed. */
    find: (authorization: AuthorizationKey): Promise<Payment | undefined> => findHolder(db, authorization),

    /**
     * Adds a CLAIMED payment with a valid authorization to its payer's payments in flight. If it is the only one, the
     * verification has already shown that there is enough money, and the payment becomes VERIFIED. It also becomes
     * VERIFIED if the known funds cover all of them.
     *
     * @returns the VERIFIED payment, or else the payer's other payments in flight, across all sellers and processes,
     *   and those settled since the claim.
     * @throws LeaseLost
     */
    hold: (lease: PaymentLease, funds?: KnownFunds): Promise<Payment | InFlight[]> =>
      verifyOrHold(lease, { isCovered: false, funds }),

    /** CLAIMED → VERIFIED. Assigns the customer. Records `payment.verified`. @throws LeaseLost */
    verified: (lease: PaymentLease) => verifyOrHold(lease, { isCovered: true, funds: undefined }) as Promise<Payment>,

    /**
     * VERIFIED → SETTLING, with the upstream's response. The settlement may be sent from now on.
     *
     * @throws LeaseLost
     */
    async served(lease: PaymentLease, response: ServedResponse): Promise<void> {
      const moved = await serve({ ...lease, ...response });
      if (moved) announce(moved, false);
      else await alreadyAt(db.prisma, lease, 'SETTLING');
    },

    /** SERVED → SETTLING, for payments that an earlier version left SERVED. */
    async settling(lease: PaymentLease): Promise<void> {
      await step(lease, ['SERVED'], 'SETTLING', Prisma.sql`"failureReason" = NULL`);
    },

    /**
     * SETTLING or UNKNOWN → SETTLED. Adds the payment to the totals of its customer and its day exactly once. Records
     * `payment.settled`, `customer.first_payment` for the first payment, and `customer.milestone` for each milestone
     * that the customer reaches.
     *
     * If a settlement becomes known on a later UTC day, it is booked on that day, because finished days aren't
     * reopened.
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
      if (!payment) return alreadySettled(db.prisma, by, transactionHash);
      announce(payment, true);
      return payment;
    },

    /**
     * → FAILED: nothing was charged. Deletes the unpaid response. Records `payment.failed`, except for failures at
     * VERIFY. Anyone can cause those failures, so they don't concern the seller and are soon deleted.
     */
    async failed(by: PaymentLease | Reconciled, failure: PaymentFailure): Promise<Payment> {
      const { stage, reason, message, upstream } = failure;
      const from = 'reconciled' in by ? SETTLEABLE : FAILS_FROM[stage];
      const why = { from, stage, reason, message, upstream };
      const payment = await fail({ ...ownerOf(by), ...why, now: booksTime(), traceContext: trace() });
      if (!payment) return alreadyAt(db.prisma, by, 'FAILED', stage);
      announce(payment, stage !== 'VERIFY');
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
      const set = Prisma.sql`"failureReason" = ${foreignText(reason, 100)},
        "transactionHash" = coalesce(${transactionHash?.toLowerCase() ?? null}, "transactionHash"),
        "leasedUntil" = now() + make_interval(secs => ${nextCheckSeconds}::float8)`;
      return step(lease, SETTLEABLE, 'UNKNOWN', set);
    },

    ...createLeases(db, recoveryLeaseSeconds),
    ...createKeptResponses(db),
  };
}

function ownerOf(by: PaymentLease | Reconciled): PaymentIdentity & { leaseToken: number | null } {
  const { paymentId, projectId, payer } = by;
  return { paymentId, projectId, payer, leaseToken: 'reconciled' in by ? null : by.leaseToken };
}
