import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import { isAmbiguous } from '../model/error-classes.ts';

type EarlierAttempt = { number: number; trigger: ClaimedDelivery['trigger']; errorClass: string | null };
type Claim = Pick<ClaimedDelivery, 'trigger' | 'attemptCount' | 'previousErrorClass'>;

/**
 * The number of the attempt that began the delivery's last manual resend. A resend doesn't count if the request before it
 * may have arrived, because the vendor has to recognize both as the same request. Null if there is none.
 *
 * @param earlier the delivery's earlier attempts, in order.
 * @param options `isCut`: whether there are more attempts before these.
 */
export function lastResend(
  earlier: readonly EarlierAttempt[],
  claim: Claim,
  { isCut = false }: { isCut?: boolean } = {},
): number | null {
  let last: number | null = null;
  let mayHaveArrived = isCut;
  for (const attempt of earlier) {
    if (attempt.trigger === 'MANUAL' && !mayHaveArrived) last = attempt.number;
    mayHaveArrived = isAmbiguous(attempt.errorClass);
  }
  return startsResend(claim) ? claim.attemptCount + 1 : last;
}

function startsResend({ trigger, previousErrorClass }: Claim): boolean {
  // An interrupted attempt isn't stored, and has the same number and trigger as this one.
  const isSame = previousErrorClass === 'interrupted';
  return trigger === 'MANUAL' && (isSame || !isAmbiguous(previousErrorClass));
}

export type ReadLastResend = (delivery: ClaimedDelivery) => Promise<number | null>;

/**
 * How many attempts are read at a time, the newest first. A delivery can be resent any number of times, and all accounts'
 * claims and results need the same few connections.
 */
const PAGE_SIZE = 100;

const READ_ATTEMPTS = statement(
  'delivery-earlier-attempts',
  `SELECT "number", "trigger", "errorClass" FROM "Attempt" WHERE "deliveryId" = $1 AND "number" < $2
   ORDER BY "number" DESC LIMIT ${PAGE_SIZE}`,
);

/** Creates the function that finds a claimed delivery's last resend. */
export function createResendReader(db: Queryable): ReadLastResend {
  return async (delivery) => {
    if (delivery.attemptCount === 0 || startsResend(delivery)) return lastResend([], delivery);
    for (let before = delivery.attemptCount + 1; ; ) {
      const { rows } = await runStatement<EarlierAttempt>(db, READ_ATTEMPTS(delivery.id, before));
      const isCut = rows.length === PAGE_SIZE;
      const last = lastResend(rows.toReversed(), delivery, { isCut });
      if (last !== null || !isCut) return last;
      // The oldest of them is read again, together with the one before it.
      before = rows.at(-1)!.number + 1;
    }
  };
}
