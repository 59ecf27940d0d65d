import { z } from 'zod';
import { hasPermission } from '../../auth/require-permission.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { ABSOLUTE_HTTP_URL, checkTargetUrl, MAX_URL_BYTES } from '../../egress/url.ts';
import { invalidField } from '../../errors.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import { type OpeningSetting, refusalOf } from './refusal.ts';

/** The limits of a URL that JSON Schema can express. */
export const URL_LIMITS = { maxLength: MAX_URL_BYTES, pattern: ABSOLUTE_HTTP_URL.source };

/**
 * Checks a URL that this service will call: it must use HTTPS, unless the operator has allowed its host. The address
 * that it resolves to is checked on every connection.
 *
 * @param setting the one that allows other addresses, for the message.
 */
export function targetUrlInput(allow: EgressAllow, setting: OpeningSetting = 'EGRESS_ALLOW') {
  return z
    .string()
    .meta(URL_LIMITS)
    .transform((text, context) => {
      const result = checkTargetUrl(text, allow);
      if (result.ok) return text;
      context.addIssue({ code: 'custom', message: refusalOf(result, setting) });
      return z.NEVER;
    });
}

/**
 * A stored URL as the viewer can see it: in full for people who can edit it, and masked for everyone else, including all
 * API keys. Call this only for projects that the viewer can see.
 */
export function shownUrl(viewer: Viewer, projectId: string, url: string): string {
  return viewer.kind === 'user' && hasPermission(viewer, projectId, 'CREDENTIALS') ? url : maskUrl(url);
}

/**
 * The URL to store. If the given URL is the masked form of the stored URL, the stored URL is kept. The mask may be
 * percent-encoded, because some clients normalize URLs.
 *
 * @param stored undefined if nothing is stored yet.
 * @throws AppError `VALIDATION_FAILED` if a masked URL doesn't match the stored URL.
 */
export function urlToStore(field: string, given: string, stored?: string): string {
  const shown = given.replaceAll(/%E2%80%A2/gi, '•');
  if (!shown.includes('•') || given === stored) return given;
  if (stored !== undefined && shown === maskUrl(stored)) return stored;
  throw invalidField(`/${field}`, 'This URL contains a masked secret. Send the full URL, or omit the field.');
}
