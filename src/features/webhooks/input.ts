import { z } from 'zod';
import { DELIVERY_DEFAULTS } from '../../delivery/delivery-settings.ts';
import type { PayloadVersions } from '../../events/versions.ts';
import { PAYLOAD_VERSIONS } from '../../events/versions.ts';
import type { RetrySchedule, WebhookOrdering } from '../../generated/prisma/client.ts';
import { type Nullable, optionalText } from '../../validation.ts';
import { type SubscriptionInput, type SwitchInput, subscriptionShape, switchShape } from '../destinations/input.ts';
import { createWebhookUrls, NO_OPENINGS, type UrlInput } from '../urls/project-url.ts';
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
const DEFAULT_ESCAPE_AFTER_ATTEMPTS = 4;

/** Check a new webhook and changes to a webhook, except its headers and authentication. */
export function createWebhookInputs({ input: url }: UrlInput, { current }: PayloadVersions) {
  const versionRange =
    current === 1 ? 'Must be 1, the only version so far.' : `Must be a version from 1 to ${current}.`;
  const createInput = z.strictObject({
    url,
    ...subscriptionShape,
    ...credentialsShape,
    payloadVersion: optionalInt(1, current, versionRange, current),
    ordering: optionalChoice(['NONE', 'PAYMENT'], 'NONE'),
    orderingEscapeAfterAttempts: optionalInt(
      ...([1, 100, 'Must be a whole number from 1 to 100.', DEFAULT_ESCAPE_AFTER_ATTEMPTS] as const),
    ),
    timeoutSeconds: optionalInt(
      ...([1, MAX_TIMEOUT_SECONDS, `Must be a whole number from 1 to ${MAX_TIMEOUT_SECONDS}.`] as const),
      DEFAULT_TIMEOUT_SECONDS,
    ),
    retrySchedule: optionalChoice(['STANDARD', 'SHORT', 'LONG', 'NONE'], 'STANDARD'),
    description: optionalText(1000),
  });
  return { createInput, updateInput: createInput.partial().extend(switchShape) };
}

/**
 * A number that can be omitted or null, in which case the current value or the default applies.
 *
 * @param initial the default for new webhooks, which is also the one in the database.
 */
function optionalInt(minimum: number, maximum: number, message: string, initial: number) {
  return z
    .int(message)
    .min(minimum, message)
    .max(maximum, message)
    .meta({ default: initial })
    .nullish()
    .transform((value) => value ?? undefined);
}

/** A value that can be omitted or null, with the same effect as in `optionalInt`. */
function optionalChoice<const T extends string>(choices: readonly [T, ...T[]], initial: T) {
  return z
    .enum(choices)
    .meta({ default: initial })
    .nullish()
    .transform((choice) => choice ?? undefined);
}

/** The rules that don't depend on a server's configuration. */
export const WEBHOOK_RULES = createWebhookInputs(createWebhookUrls(NO_OPENINGS), PAYLOAD_VERSIONS);
