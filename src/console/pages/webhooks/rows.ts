import type { WebhooksQuery } from '../../../generated/console/webhooks.ts';

export type WebhookRow = NonNullable<WebhooksQuery['project']>['webhooks']['nodes'][number];
