import { z } from 'zod';
import { sharedNow } from '../../clock.ts';

const DEFAULT_OVERLAP_HOURS = 24;
const MAX_OVERLAP_HOURS = 7 * 24;
const HOUR_MILLISECONDS = 3_600_000;

/** Checks the input for a new signing secret: how many hours the old one also signs requests. */
export const overlapInput = z.strictObject({
  overlapHours: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS, `Must be at most ${MAX_OVERLAP_HOURS}.`)
    .meta({ default: DEFAULT_OVERLAP_HOURS })
    .nullish()
    .transform((hours) => hours ?? DEFAULT_OVERLAP_HOURS),
});

/** When the old secret stops signing requests. Null if it does so immediately. */
export function overlapEnd(overlapHours: number): Date | null {
  return overlapHours > 0 ? new Date(sharedNow() + overlapHours * HOUR_MILLISECONDS) : null;
}
