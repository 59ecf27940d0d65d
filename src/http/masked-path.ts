import { maskApiKeys } from '../auth/api-keys.ts';

/** A request's path for logs and errors: without the query, and without API keys that clients put there by mistake. */
export const maskedPath = (url: string): string => maskApiKeys(url.split('?')[0]!);
