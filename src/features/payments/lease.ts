import type { Database } from '../../database/client.ts';
import { preparedStatement, runStatement } from '../../database/statement.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { type PaymentRow, toPayment } from './steps/rows.ts';

/** A payment, with the values that never change while its lease lasts. */
export type PaymentIdentity = { paymentId: string; projectId: string; payer: string };

/** Proves that a process owns a payment. Every takeover increments the token. */
export type PaymentLease = PaymentIdentity & { leaseToken: number };

/** The chain has shown a payment's outcome. It applies no matter which process owns the payment. */
export type Reconciled = PaymentIdentity & { reconciled: true };

export function leaseOf(payment: Payment): PaymentLease {
  return { ...identityOf(payment), leaseToken: payment.leaseToken };
}

export function reconciledOf(payment: Payment): Reconciled {
  return { ...identityOf(payment), reconciled: true };
}

function identityOf({ id, projectId, payer }: Payment): PaymentIdentity {
  return { paymentId: id, projectId, payer };
}

/** Another process owns the payment now, or the payment is final. Stop working on it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  constructor(paymentId: string) {
    super(`This process no longer holds the lease for payment ${paymentId}.`);
  }
}

/** The payment no longer exists because its project was deleted. */
export class PaymentGone extends LeaseLost {}

/**
 * Takes over up to $1 payments. Accounts take turns, and the ones with fewer payments in progress ($3: the project of
 * each) come first. No account gets more than it leaves free, because its payments may all be stuck.
 */
const TAKE_ABANDONED = preparedStatement(
  'payment-take-abandoned',
  `WITH busy AS (
     SELECT p."userId", count(*) AS "count"
     FROM unnest($3::text[]) AS running("projectId") JOIN "Project" p ON p."id" = running."projectId" GROUP BY 1
   ),
   ranked AS (
     SELECT y."id", y."leasedUntil", coalesce(busy."count", 0)
       + row_number() OVER (PARTITION BY p."userId" ORDER BY y."leasedUntil") AS "position"
     FROM "Payment" y JOIN "Project" p ON p."id" = y."projectId" LEFT JOIN busy ON busy."userId" = p."userId"
     WHERE y."leasedUntil" <= now()
   ),
   queued AS MATERIALIZED (
     SELECT "id", "position", row_number() OVER (ORDER BY "position", "leasedUntil") AS "place" FROM ranked
   )
   UPDATE "Payment" SET "leaseToken" = "leaseToken" + 1, "leasedUntil" = now() + make_interval(secs => $2)
   WHERE "id" = ANY(ARRAY(
     SELECT y."id" FROM "Payment" y JOIN queued USING ("id")
     WHERE y."leasedUntil" <= now() AND "position" <= $1::int - "place" + 1
     ORDER BY "place" FOR UPDATE OF y SKIP LOCKED
   )) RETURNING *`,
);

const EXTEND = preparedStatement(
  'payment-lease-extend',
  `UPDATE "Payment" SET "leasedUntil" = now() + make_interval(secs => $3)
   WHERE "id" = $1 AND "leaseToken" = $2 AND "leasedUntil" IS NOT NULL`,
);

const TAKE = preparedStatement(
  'payment-take',
  `UPDATE "Payment" SET "leaseToken" = "leaseToken" + 1, "leasedUntil" = now() + make_interval(secs => $2)
   WHERE "id" = $1 AND "leasedUntil" <= now() RETURNING *`,
);

/** Extends leases, and takes over payments whose leases have expired. */
export function createLeases({ pool }: Pick<Database, 'pool'>, recoveryLeaseSeconds: number) {
  return {
    /** Extends a lease so that it expires `seconds` from now. @throws LeaseLost if another process has the payment. */
    async extend({ paymentId, leaseToken }: PaymentLease, seconds: number): Promise<void> {
      const { rowCount } = await runStatement(pool, EXTEND(paymentId, leaseToken, seconds));
      if (rowCount === 0) throw new LeaseLost(paymentId);
    },

    /**
     * Takes over payments whose leases have expired. Each payment goes to only one process.
     *
     * @param runningProjectIds the projects of the payments that this process is already recovering.
     */
    async takeAbandoned(limit: number, runningProjectIds: string[] = []): Promise<Payment[]> {
      const { rows } = await runStatement<PaymentRow>(
        pool,
        TAKE_ABANDONED(limit, recoveryLeaseSeconds, runningProjectIds),
      );
      return rows.map(toPayment);
    },

    /**
     * Takes over one payment. Returns null if it is final, if another process has it, or if it is waiting for its next
     * check.
     */
    async take(paymentId: string, leaseSeconds: number): Promise<Payment | null> {
      const { rows } = await runStatement<PaymentRow>(pool, TAKE(paymentId, leaseSeconds));
      return rows[0] ? toPayment(rows[0]) : null;
    },
  };
}
