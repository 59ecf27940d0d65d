import type { ApiKeysQuery } from '../../../generated/console/api-keys.ts';

export type ApiKeyRow = NonNullable<ApiKeysQuery['project']>['apiKeys']['nodes'][number];

const WARNING_MILLISECONDS = 7 * 24 * 3_600_000;

type Status = { word: string; color: string; why?: string };

/**
 * Whether a key works. It is marked a week before it expires, so there is time to replace it in programs that use it.
 */
export function keyStatus({ expiresAt }: Pick<ApiKeyRow, 'expiresAt'>, nowMilliseconds = Date.now()): Status {
  if (!expiresAt) return { word: 'Active', color: 'teal' };
  const left = Date.parse(expiresAt) - nowMilliseconds;
  if (left <= 0) return { word: 'Expired', color: 'red', why: 'Requests with this key are rejected.' };
  if (left > WARNING_MILLISECONDS) return { word: 'Active', color: 'teal' };
  return { word: 'Expires soon', color: 'orange', why: 'Create another key, and replace this one before it expires.' };
}
