import { z } from 'zod';
import { sharedNow } from '../../clock.ts';
import { EVENT_TYPE_FILTERS } from '../../events/kinds.ts';

/** At least one kind or `*`, each once. */
export const eventTypesInput = z
  .array(z.enum(EVENT_TYPE_FILTERS, { error: `Must be one of ${EVENT_TYPE_FILTERS.join(', ')}.` }))
  .min(1, 'Name at least one event kind, or "*" for all.')
  .max(50)
  .transform((types) => [...new Set(types)]);

/** Requests a second that a subscriber takes at most; null and undefined for no limit. */
export const maxPerSecondInput = z.int().min(1, 'Must be at least 1.').max(1000, 'Must be at most 1000.').nullish();

/** What switching on or off by hand does beside it: a reason of the service's own no longer holds. */
export function activity(isActive: boolean | undefined) {
  if (isActive === undefined) return {};
  return {
    disabledReason: null,
    disabledAt: isActive ? null : new Date(sharedNow()),
    failingSince: null,
    circuitOpenUntil: null,
  };
}
