import { z } from 'zod';
import { sharedNow } from '../../clock.ts';
import { createdBetween, type Period } from '../../database/created-between.ts';
import { eventFilterInput } from '../../events/filter-input.ts';
import { EVENT_TYPE_FILTERS, EVENT_TYPES, type EventTypeFilter } from '../../events/types.ts';
import { lineOfText, storableText } from '../../validation.ts';

/** A destination's name and what it subscribes to, as given by the caller. */
export type SubscriptionInput = {
  name?: string | null;
  eventTypes: EventTypeFilter[];
  filter?: unknown;
  maxPerSecond?: number | null;
};

const MAX_NAME_LENGTH = 60;

export const eventTypesInput = z
  .array(z.enum(EVENT_TYPE_FILTERS, { error: `Must be one of ${EVENT_TYPE_FILTERS.join(', ')}.` }))
  .min(1, 'Choose at least one event type, or "*" for all.')
  .max(50)
  .transform((types) => [...new Set(types)]);

/** Requests per second. Null or undefined means no limit. */
const maxPerSecondInput = z
  .number()
  .min(0.01, 'Must be at least 0.01.')
  .max(1000, 'Must be at most 1000.')
  .multipleOf(0.01, 'Must have at most two decimal places.')
  .nullish();

/** Checks the fields of `SubscriptionInput`, as part of a webhook's or connector's input. */
export const subscriptionShape = {
  name: lineOfText(MAX_NAME_LENGTH).nullish(),
  eventTypes: eventTypesInput,
  filter: eventFilterInput,
  maxPerSecond: maxPerSecondInput,
};

/** The settings that the owner can turn on and off. */
export type SwitchInput = { isActive: boolean; isPaused: boolean };

/** Checks the fields of `SwitchInput`, as part of changing a webhook or connector. */
export const switchShape = { isActive: z.boolean().optional(), isPaused: z.boolean().optional() };

/** Checks the input for a test event. */
export const testEventInput = z.strictObject({ eventType: z.enum(EVENT_TYPES).nullish() });

/**
 * The other fields that change when the owner enables or disables a destination: the service's reason for disabling it
 * no longer applies.
 */
export function switched(isActive: boolean | undefined) {
  if (isActive === undefined) return {};
  return { disabledReason: null, disabledAt: isActive ? null : new Date(sharedNow()), ...HEALTHY };
}

/** Which webhooks or connectors to list. */
export type DestinationFilter = Period & {
  name?: string | null;
  isActive?: boolean | null;
  isPaused?: boolean | null;
};

/**
 * The same as a Prisma filter, which leaves out conditions that aren't set. Throws AppError `VALIDATION_FAILED` for
 * invalid text.
 */
export function matchingDestinations(
  type: 'Webhook' | 'Connector',
  { name, isActive, isPaused, ...period }: DestinationFilter,
) {
  return {
    ...(name && { name: { contains: literally(storableText('/name', name)), mode: 'insensitive' as const } }),
    ...(isActive != null && { isActive }),
    ...(isPaused != null && { pausedAt: isPaused ? { not: null } : null }),
    ...createdBetween(type, 'createdAt', period),
  };
}

/** Escapes text for `LIKE`, so that it contains no wildcards. */
const literally = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&');

/** Ends a run of failures. */
export const HEALTHY = { failingSince: null, circuitOpenUntil: null };
