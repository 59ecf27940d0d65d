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
 */
export function lastResend(
  earlier: readonly EarlierAttempt[],
  { trigger, attemptCount, previousErrorClass }: Claim,
): number | null {
  let last: number | null = null;
  let mayHaveArrived = false;
  for (const attempt of earlier) {
    if (attempt.trigger === 'MANUAL' && !mayHaveArrived) last = attempt.number;
    mayHaveArrived = isAmbiguous(attempt.errorClass);
  }
  // An interrupted attempt isn't stored, and has the same number and trigger as this one.
  const isSame = previousErrorClass === 'interrupted';
  if (trigger === 'MANUAL' && (isSame || !isAmbiguous(previousErrorClass))) return attemptCount + 1;
  return last;
}

export type ReadLastResend = (delivery: ClaimedDelivery) => Promise<number | null>;

const READ_ATTEMPTS = statement(
  'delivery-earlier-attempts',
  `SELECT "number", "trigger", "errorClass" FROM "Attempt" WHERE "deliveryId" = $1 ORDER BY "number"`,
);

/** Creates the function that finds a claimed delivery's last resend. */
export function createResendReader(db: Queryable): ReadLastResend {
  return async (delivery) => {
    if (delivery.attemptCount === 0) return lastResend([], delivery);
    const { rows } = await runStatement<EarlierAttempt>(db, READ_ATTEMPTS(delivery.id));
    return lastResend(rows, delivery);
  };
}
