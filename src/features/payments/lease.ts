import type { Database } from '../../database/client.ts';
import type { Payment } from '../../generated/prisma/client.ts';

/** A payment, and what never changes about it while its lease lasts. */
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

/** Extends leases, and takes over payments whose leases have ended. */
export function createLeases({ prisma }: Pick<Database, 'prisma'>, recoveryLeaseSeconds: number) {
  return {
    /** Extends a lease so that it ends `seconds` from now. @throws LeaseLost if another process has the payment. */
    async extend(lease: PaymentLease, seconds: number): Promise<void> {
      const count = await prisma.$executeRaw`
        UPDATE "Payment" SET "leasedUntil" = now() + make_interval(secs => ${seconds}::float8)
        WHERE "id" = ${lease.paymentId} AND "leaseToken" = ${lease.leaseToken} AND "leasedUntil" IS NOT NULL`;
      if (count === 0) throw new LeaseLost(lease.paymentId);
    },

    /** Takes over payments whose leases have ended, oldest lease first. Each payment goes to only one process. */
    async takeAbandoned(limit: number): Promise<Payment[]> {
      return prisma.$queryRaw<Payment[]>`
        UPDATE "Payment" SET "leaseToken" = "leaseToken" + 1,
          "leasedUntil" = now() + make_interval(secs => ${recoveryLeaseSeconds}::float8)
        WHERE "id" = ANY(ARRAY(
          SELECT "id" FROM "Payment" WHERE "leasedUntil" <= now()
          ORDER BY "leasedUntil" LIMIT ${limit} FOR UPDATE SKIP LOCKED
        )) RETURNING *`;
    },

    /**
     * Takes over one payment. Returns null if it is final, if another process has it, or if it is waiting for its next
     * check.
     */
    async take(paymentId: string, leaseSeconds: number): Promise<Payment | null> {
      const [payment] = await prisma.$queryRaw<Payment[]>`
        UPDATE "Payment" SET "leaseToken" = "leaseToken" + 1,
          "leasedUntil" = now() + make_interval(secs => ${leaseSeconds}::float8)
        WHERE "id" = ${paymentId} AND "leasedUntil" <= now() RETURNING *`;
      return payment ?? null;
    },
  };
}
