import { z } from 'zod';
import { DELIVERY_DEFAULTS } from '../../delivery/delivery-settings.ts';
import type { PayloadVersions } from '../../events/versions.ts';
import type { RetrySchedule, WebhookOrdering } from '../../generated/prisma/client.ts';
import { type Nullable, optionalText } from '../../validation.ts';
import { type SubscriptionInput, type SwitchInput, subscriptionShape, switchShape } from '../destinations/input.ts';
import type { createWebhookUrls } from '../urls/project-url.ts';
import { type CredentialsInput, credentialsShape } from './credentials.ts';

export type CreateWebhookInput = SubscriptionInput &
  CredentialsInput & {
    url: string;
    payloadVersion?: number | null;
    ordering?: WebhookOrdering | null;
    orderingEscapeAfterAttempts?: number | null;
    timeoutSeconds?: number | null;
    retrySchedule?: RetrySchedule | null;
    description?: string | null;
  };
export type UpdateWebhookInput = Nullable<CreateWebhookInput & SwitchInput>;

/** The default timeout of webhooks. */
export const DEFAULT_TIMEOUT_SECONDS = DELIVERY_DEFAULTS.timeoutMilliseconds / 1000;
const MAX_TIMEOUT_SECONDS = 30;
const MAX_OVERLAP_HOURS = 7 * 24;

/** Checks the input for a new signing secret. */
export const rotateInput = z.strictObject({
  overlapHours: z
    .int()
    .nullish()
    .transform((hours) => hours ?? 24)
    .pipe(z.int().min(0).max(MAX_OVERLAP_HOURS, `Must be at most ${MAX_OVERLAP_HOURS}.`)),
});

/** Check a new webhook and changes to a webhook, except its headers and authentication. */
export function createWebhookInputs(
  { input: url }: ReturnType<typeof createWebhookUrls>,
  { current }: PayloadVersions,
) {
  const versionRange =
    current === 1 ? 'Must be 1, the only version so far.' : `Must be a version from 1 to ${current}.`;
  const createInput = z.strictObject({
    url,
    ...subscriptionShape,
    ...credentialsShape,
    payloadVersion: optionalInt(1, current, versionRange),
    ordering: optionalChoice(['NONE', 'PAYMENT']),
    orderingEscapeAfterAttempts: optionalInt(1, 100, 'Must be a whole number from 1 to 100.'),
    timeoutSeconds: optionalInt(1, MAX_TIMEOUT_SECONDS, `Must be a whole number from 1 to ${MAX_TIMEOUT_SECONDS}.`),
    retrySchedule: optionalChoice(['STANDARD', 'SHORT', 'LONG', 'NONE']),
    description: optionalText(1000),
  });
  return { createInput, updateInput: createInput.partial().extend(switchShape) };
}

/** A number that can be omitted or null, in which case the current value or the default applies. */
function optionalInt(minimum: number, maximum: number, message: string) {
  return z
    .int(message)
    .min(minimum, message)
    .max(maximum, message)
    .nullish()
    .transform((value) => value ?? undefined);
}

/** A value that can be omitted or null, with the same effect as in `optionalInt`. */
function optionalChoice<const T extends string>(choices: readonly [T, ...T[]]) {
  return z
    .enum(choices)
    .nullish()
    .transform((choice) => choice ?? undefined);
}
