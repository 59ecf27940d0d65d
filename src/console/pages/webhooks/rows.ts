import type { WebhooksQuery } from '../../../generated/console/webhooks.ts';

export type WebhookRow = NonNullable<WebhooksQuery['project']>['webhooks']['nodes'][number];

/** The time until which requests are also signed with the previous secret; undefined if it has passed. */
export function oldSecretEnd(
  { previousSecretExpiresAt }: Pick<WebhookRow, 'previousSecretExpiresAt'>,
  nowMilliseconds = Date.now(),
): string | undefined {
  if (!previousSecretExpiresAt || Date.parse(previousSecretExpiresAt) <= nowMilliseconds) return undefined;
  return previousSecretExpiresAt;
}
