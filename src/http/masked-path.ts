import { maskApiKeys } from '../auth/api-keys.ts';

/** API keys contain only ASCII characters. Other text may have an invalid encoding. */
const ENCODED_ASCII = /%([0-7][0-9a-f])/gi;

/** A request's path for logs and errors: without the query, and without API keys that clients put there by mistake. */
export const maskedPath = (url: string): string => url.split('?')[0]!.split('/').map(maskedSegment).join('/');

function maskedSegment(segment: string): string {
  const decoded = segment.replaceAll(ENCODED_ASCII, (_escape, code) => String.fromCharCode(Number.parseInt(code, 16)));
  const masked = maskApiKeys(decoded);
  return masked === decoded ? segment : masked;
}
