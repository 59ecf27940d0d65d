import { type Bus, topics } from '../../bus/bus.ts';
import type { Database } from '../../database/client.ts';
import { isForeignKeyViolation } from '../../database/errors.ts';
import { notFound } from '../../errors.ts';
import { type Payment, type PaymentStage, type PaymentStatus, Prisma } from '../../generated/prisma/client.ts';
import type { EventService } from '../events/service.ts';
import { bookFailure, bookingTime, bookSettlement, findOrCreateCustomer } from './books.ts';
import { enterBooks } from './books-lock.ts';
import { holdFunds, type InFlight } from './in-flight.ts';
import { createKeptAnswers } from './kept-answers.ts';
import { alreadyAt, alreadySettled, LeaseLost, type PaymentLease, type Reconciled } from './lease.ts';
import { paymentPayload } from './payload.ts';
import type {
  AuthorizationKey,
  Claim,
  NewPayment,
  PaymentFailure,
  PaymentProgress,
  Settlement,
  UpstreamAnswer,
} from './payment-record.ts';
import { findHolder, insertClaim, movePayment, moveToServed } from './steps.ts';

export type Ledger = ReturnType<typeof createLedger>;

const SETTLEABLE: readonly PaymentStatus[] = ['SETTLING', 'UNKNOWN'];
/** Where a payment may stand when it fails at a stage. */
const FAILS_FROM: Record<PaymentStage, readonly PaymentStatus[]> = {
  VERIFY: ['CLAIMED'],
  UPSTREAM: ['VERIFIED'],
  SETTLE: ['SERVED', 'SETTLING', 'UNKNOWN'],
};
const FINAL = Prisma.sql`"authorization" = NULL, "leasedUntil" = NULL`;
/** An unknown settlement is looked up on the chain after this long; a block has to come first. */
const NEXT_CHECK_SECONDS = 5;

export type LedgerOptions = {
  db: Database;
  events: EventService;
  bus: Bus;
  /** How long whoever takes over an abandoned payment has it. What stays unresolved is handed out again after it. */
  recoveryLeaseSeconds?: number;
  /** Told of every status that a payment comes to. */
  onStatus?: (payment: PaymentProgress) => void;
  /** Clock of the books, for tests; the database's otherwise. Leases always run by the database's. */
  now?: () => Date;
};

/**
 * The life of payments. Every step is a compare-and-set on the status and the lease, so of two processes that believe
 * they carry a payment one is refused with `LeaseLost`; it is written in one transaction with its events and its place in
 * the books. A step whose answer was lost may be repeated with the same lease: it is taken once.
 *
 * A payment that failed at VERIFY is final but gives its nonce back: whoever holds the real authorization may present it,
 * as a new payment, even if somebody else tried a forged one first. Any later failure keeps it: an authorization makes
 * one upstream call at most.
 */
export function createLedger({ db, events, bus, recoveryLeaseSeconds = 15, onStatus, now }: LedgerOptions) {
  /** Tells live subscribers, and after events the workers too. */
  function announce(payment: PaymentProgress, hasEvents: boolean): void {
    onStatus?.(payment);
    bus.publish(topics.payments(payment.projectId));
    if (hasEvents) events.announce(payment.projectId);
  }

  /** Takes a step without events. */
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
     * Takes the nonce of an authorization for this request, once for all processes and projects. One that was claimed by
     * a process that has died before verifying it is claimed anew.
     *
     * @throws AppError `NOT_FOUND` when the project is not there any more.
     */
    async claim(input: NewPayment): Promise<Claim> {
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
        // It gave its nonce back between the two statements.
      }
    },

    /** The payment that an authorization was claimed for, unless it has failed. */
    find: (authorization: AuthorizationKey): Promise<Payment | undefined> => findHolder(db, authorization),

    /**
     * Counts a CLAIMED payment, whose authorization is good, among what its payer has in flight.
     *
     * @returns what the same payer has in flight already, at all sellers and processes, and what was settled since the
     *   claim. While it is none, the verification has shown that there is enough money.
     * @throws LeaseLost
     */
    hold: (claimed: Payment): Promise<InFlight[]> => db.prisma.$transaction((tx) => holdFunds(tx, claimed)),

    /** CLAIMED → VERIFIED. Knows the customer from here on. Records `payment.verified`. */
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

    /** VERIFIED → SERVED, with the upstream's answer. */
    async served(lease: PaymentLease, answer: UpstreamAnswer): Promise<void> {
      const moved = await moveToServed(db, lease, answer);
      if (moved) announce(moved, false);
      else await alreadyAt(db.prisma, lease, 'SERVED');
    },

    /** SERVED → SETTLING. Call it before the settlement is sent: from here on it may have happened. */
    async settling(lease: PaymentLease): Promise<void> {
      await step(lease, ['SERVED'], 'SETTLING', Prisma.sql`"failureReason" = NULL`);
    },

    /**
     * SETTLING or UNKNOWN → SETTLED: counts the payment for its customer and its day, once. Records `payment.settled`,
     * `customer.first_payment` for the first one, and `customer.milestone` for each milestone it passes.
     *
     * A settlement that becomes known on a later UTC day is booked on that day, because a finished day is not reopened.
     *
     * @throws LeaseLost
     */
    async settled(by: PaymentLease | Reconciled, result: Settlement): Promise<Payment> {
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
     * → FAILED: nothing was charged. Drops the answer that was not paid for. Records `payment.failed`, except for what
     * failed at VERIFY: anybody can make such payments, so they are no seller's business and are soon deleted.
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
     * SETTLING or UNKNOWN → UNKNOWN: the settlement was sent and its result is not known. The chain will tell; the
     * payment is handed out by `takeAbandoned` after `nextCheckSeconds`.
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

    /** Prolongs a lease to that many seconds from now. @throws LeaseLost when another process has the payment. */
    async extend(lease: PaymentLease, seconds: number): Promise<void> {
      const count = await db.prisma.$executeRaw`
        UPDATE "Payment" SET "leasedUntil" = now() + make_interval(secs => ${seconds}::float8)
        WHERE "id" = ${lease.paymentId} AND "leaseToken" = ${lease.leaseToken} AND "leasedUntil" IS NOT NULL`;
      if (count === 0) throw new LeaseLost(lease.paymentId);
    },

    /** Takes over payments whose lease has ended, the longest abandoned first, each for one process. */
    async takeAbandoned(limit: number): Promise<Payment[]> {
      return db.prisma.$queryRaw<Payment[]>`
        UPDATE "Payment" SET "leaseToken" = "leaseToken" + 1,
          "leasedUntil" = now() + make_interval(secs => ${recoveryLeaseSeconds}::float8)
        WHERE "id" = ANY(ARRAY(
          SELECT "id" FROM "Payment" WHERE "leasedUntil" <= now()
          ORDER BY "leasedUntil" LIMIT ${limit} FOR UPDATE SKIP LOCKED
        )) RETURNING *`;
    },

    /** Takes over one payment; null while another process has it, when it waits for its next check, and when it is final. */
    async take(paymentId: string, leaseSeconds: number): Promise<Payment | null> {
      const [payment] = await db.prisma.$queryRaw<Payment[]>`
        UPDATE "Payment" SET "leaseToken" = "leaseToken" + 1,
          "leasedUntil" = now() + make_interval(secs => ${leaseSeconds}::float8)
        WHERE "id" = ${paymentId} AND "leasedUntil" <= now() RETURNING *`;
      return payment ?? null;
    },

    ...createKeptAnswers(db),
  };
}

/** What others wrote, such as a facilitator, in a form that can be stored. */
function foreignText(text: string, maxLength: number): string {
  return text.replaceAll('\0', '').slice(0, maxLength).toWellFormed();
}
