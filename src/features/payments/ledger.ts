import { type Bus, topics } from '../../bus/bus.ts';
import type { Database } from '../../database/client.ts';
import { isForeignKeyViolation } from '../../database/errors.ts';
import { notFound } from '../../errors.ts';
import { type Payment, type PaymentStage, type PaymentStatus, Prisma } from '../../generated/prisma/client.ts';
import type { EventService } from '../events/service.ts';
import { bookFailure, bookingTime, bookSettlement, findOrCreateCustomer } from './books.ts';
import { enterBooks } from './books-lock.ts';
import { holdFunds, type InFlight } from './in-flight.ts';
import { createKeptResponses } from './kept-responses.ts';
import { createLeases, type PaymentLease, type Reconciled } from './lease.ts';
import { paymentPayload } from './payload.ts';
import type {
  AuthorizationKey,
  NewPayment,
  OnChainSettlement,
  PaymentClaim,
  PaymentFailure,
  PaymentProgress,
  ServedResponse,
} from './payment-record.ts';
import { alreadyAt, alreadySettled, findHolder, insertClaim, movePayment, moveToServed } from './steps.ts';

export type Ledger = ReturnType<typeof createLedger>;

const SETTLEABLE: readonly PaymentStatus[] = ['SETTLING', 'UNKNOWN'];
/** The statuses that a payment can have when it fails at each stage. */
const FAILS_FROM: Record<PaymentStage, readonly PaymentStatus[]> = {
  VERIFY: ['CLAIMED'],
  UPSTREAM: ['VERIFIED'],
  SETTLE: ['SERVED', 'SETTLING', 'UNKNOWN'],
};
const FINAL = Prisma.sql`"authorization" = NULL, "leasedUntil" = NULL`;
/** How long to wait before looking up an unknown settlement on the chain, because it must be in a block first. */
const NEXT_CHECK_SECONDS = 5;

export type LedgerOptions = {
  db: Database;
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
 * the books. If a step's result is lost, the step can be retried with the same lease and is taken only once.
 *
 * A payment that failed at VERIFY is final but releases its nonce. The real payer can still present the authorization
 * as a new payment, even if someone else tried a forged one first. After any later failure, the nonce stays held: an
 * authorization leads to at most one upstream call.
 */
export function createLedger({ db, events, bus, recoveryLeaseSeconds = 15, onStatus, now }: LedgerOptions) {
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

  return {
    /**
     * Claims an authorization's nonce for this request. Across all processes and projects, it can be claimed only once,
     * unless verifying it failed, or a process died between claiming and verifying it.
     *
     * @throws AppError `NOT_FOUND` if the project no longer exists.
     */
    async claim(input: NewPayment): Promise<PaymentClaim> {
      for (;;) {
        const created = await insertClaim(db, input).catch((error) => {
          throw isForeignKeyViolation(error) ? notFound() : error;
        });
        if (created) {
          announce(created, false);
          return { kind: 'claimed', payment: created };
        }
        const existing = await findHolder(db, input);
        if (existing) return { kind: 'existing', payment: existing };
        // The other payment released the nonce between the two statements.
      }
    },

    /** The payment that holds an authorization, unless its verification failed. */
    find: (authorization: AuthorizationKey): Promise<Payment | undefined> => findHolder(db, authorization),

    /**
     * Adds a CLAIMED payment with a valid authorization to its payer's payments in flight.
     *
     * @returns the payer's other payments in flight, across all sellers and processes, and those settled since the
     *   claim. If nothing else is in flight, the verification has already shown that there is enough money.
     * @throws LeaseLost
     */
    hold: (claimed: Payment): Promise<InFlight[]> => db.prisma.$transaction((tx) => holdFunds(tx, claimed)),

    /** CLAIMED → VERIFIED. Assigns the customer. Records `payment.verified`. */
    async verified(lease: PaymentLease): Promise<Payment> {
      const { payment, isNew } = await db.prisma.$transaction(async (tx) => {
        await enterBooks(tx, lease.paymentId);
        const set = Prisma.sql`"status" = 'VERIFIED', "verifiedAt" = clock_timestamp()`;
        const moved = await movePayment(tx, lease, ['CLAIMED'], set);
        if (!moved) return { payment: await alreadyAt(tx, lease, 'VERIFIED'), isNew: false };
        const customerId = await findOrCreateCustomer(tx, moved);
        await tx.payment.update({ where: { id: moved.id }, data: { customerId } });
        const verified = { ...moved, customerId };
        await events.record(tx, {
          projectId: verified.projectId,
          type: 'payment.verified',
          data: paymentPayload(verified),
        });
        return { payment: verified, isNew: true };
      });
      if (isNew) announce(payment, true);
      return payment;
    },

    /** VERIFIED → SERVED, with the upstream's response. */
    async served(lease: PaymentLease, response: ServedResponse): Promise<void> {
      const moved = await moveToServed(db, lease, response);
      if (moved) announce(moved, false);
      else await alreadyAt(db.prisma, lease, 'SERVED');
    },

    /** SERVED → SETTLING. Call this before sending the settlement, because from then on, it may have happened. */
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
    async settled(by: PaymentLease | Reconciled, result: OnChainSettlement): Promise<Payment> {
      const transactionHash = result.transactionHash.toLowerCase();
      const { payment, isNew } = await db.prisma.$transaction(async (tx) => {
        const milestonesAtomic = await enterBooks(tx, by.paymentId);
        const set = Prisma.sql`"status" = 'SETTLED', "transactionHash" = ${transactionHash},
          "settledAt" = ${bookingTime(result.settledAt, now)}, "failureReason" = NULL, ${FINAL}`;
        const moved = await movePayment(tx, by, SETTLEABLE, set);
        if (!moved) return { payment: await alreadySettled(tx, by, transactionHash), isNew: false };
        await bookSettlement(tx, events, moved, milestonesAtomic);
        return { payment: moved, isNew: true };
      });
      if (isNew) announce(payment, true);
      return payment;
    },

    /**
     * → FAILED: nothing was charged. Deletes the unpaid response. Records `payment.failed`, except for failures at
     * VERIFY. Anyone can cause those failures, so they don't concern the seller and are soon deleted.
     */
    async failed(by: PaymentLease | Reconciled, failure: PaymentFailure): Promise<Payment> {
      const { stage, reason, message, upstream } = failure;
      const { payment, isNew } = await db.prisma.$transaction(async (tx) => {
        await enterBooks(tx, by.paymentId);
        const from = 'reconciled' in by ? SETTLEABLE : FAILS_FROM[stage];
        const set = Prisma.sql`"status" = 'FAILED', "failureStage" = ${stage}::"PaymentStage",
          "failureReason" = ${foreignText(reason, 100)}, "failureMessage" = ${foreignText(message, 1000)}, ${FINAL},
          "verifiedAt" = CASE WHEN ${stage} = 'VERIFY' THEN NULL ELSE "verifiedAt" END,
          "upstreamStatusCode" = coalesce(${upstream?.statusCode ?? null}::int, "upstreamStatusCode"),
          "upstreamDurationMs" = coalesce(${upstream ? Math.round(upstream.durationMs) : null}::int, "upstreamDurationMs")`;
        const moved = await movePayment(tx, by, from, set);
        if (!moved) return { payment: await alreadyAt(tx, by, 'FAILED', stage), isNew: false };
        if (stage === 'VERIFY') return { payment: moved, isNew: true };
        await tx.paymentAnswer.deleteMany({ where: { paymentId: moved.id } });
        await bookFailure(tx, events, moved, bookingTime(undefined, now));
        return { payment: moved, isNew: true };
      });
      if (isNew) announce(payment, stage !== 'VERIFY');
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

/** Makes text from third parties, such as a facilitator, safe to store. */
function foreignText(text: string, maxLength: number): string {
  return text.replaceAll('\0', '').slice(0, maxLength).toWellFormed();
}
