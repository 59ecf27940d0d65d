import { z } from 'zod';
import { invalidField } from '../../errors.ts';
import type { Endpoint, SettlementOrder } from '../../generated/prisma/client.ts';

/**
 * The longest time limits for the upstream. If the payment is settled after the response, the limit applies to the
 * whole response, and the payment must still be valid then. If it is settled before the request, the limit applies to
 * each wait, and every call ends after ten minutes.
 */
export const MAX_UPSTREAM_SECONDS: Record<SettlementOrder, number> = { AFTER_RESPONSE: 60, BEFORE_REQUEST: 600 };

const orderInput = z.enum(['AFTER_RESPONSE', 'BEFORE_REQUEST'], 'Must be AFTER_RESPONSE or BEFORE_REQUEST.');
const secondsInput = z
  .int('Must be a whole number of seconds.')
  .min(1, 'Must be at least 1.')
  .max(MAX_UPSTREAM_SECONDS.BEFORE_REQUEST, `Must be at most ${MAX_UPSTREAM_SECONDS.BEFORE_REQUEST}.`);

/** When an endpoint's payments are settled, and the time limit for its upstream. Setting the limit to null restores the default. */
export const settlementInputs = {
  settlement: orderInput.meta({ default: 'AFTER_RESPONSE' }).optional(),
  timeoutSeconds: secondsInput.nullable().optional(),
};

export type SettlementInput = { settlement?: SettlementOrder | null; timeoutSeconds?: number | null };

/**
 * Checks that the time limit is allowed for the settlement order.
 *
 * @throws AppError `VALIDATION_FAILED` that names `timeoutSeconds`, even if only the order has changed.
 */
export function checkTimeout({ settlement, timeoutSeconds }: Pick<Endpoint, 'settlement' | 'timeoutSeconds'>): void {
  const maxSeconds = MAX_UPSTREAM_SECONDS[settlement];
  if (timeoutSeconds === null || timeoutSeconds <= maxSeconds) return;
  throw invalidField('/timeoutSeconds', `Must be at most ${maxSeconds} if \`settlement\` is ${settlement}.`);
}
