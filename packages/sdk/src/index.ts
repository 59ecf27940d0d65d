export { TollgateError, type TollgateErrorCode } from './errors.ts';
export type { Exported } from './exported.ts';
export type { Feed, FollowOptions } from './feed.ts';
export type * from './generated.ts';
export type { Listing } from './listing.ts';
export type { CreateOptions, RequestOptions, TollgateOptions } from './options.ts';
export { Tollgate } from './tollgate.ts';
export { verifyWebhook, type WebhookToVerify, WebhookVerificationError } from './verify-webhook.ts';
