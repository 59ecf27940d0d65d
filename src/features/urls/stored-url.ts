import { z } from 'zod';
import type { Viewer } from '../../auth/viewer.ts';
import type { EgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { invalidField } from '../../errors.ts';
import { maskUrl } from '../../secrets/mask-url.ts';

/**
 * A URL that this service will call: https, or a target that the operator has allowed. What it resolves to is checked
 * again on every connection.
 */
export function targetUrlInput(allow: EgressAllow) {
  return z.string().transform((text, context) => {
    const result = checkTargetUrl(text, allow);
    if (result.ok) return text;
    context.addIssue({ code: 'custom', message: result.message });
    return z.NEVER;
  });
}

/** A stored URL as the viewer may read it: people in full, so that they can edit it, programs masked. */
export function shownUrl(viewer: Viewer, url: string): string {
  return viewer.kind === 'user' ? url : maskUrl(url);
}

/**
 * The URL to store when this one is given, also as it was shown: the masked URL stands for the stored one. Clients that
 * normalize URLs percent-encode the mask.
 *
 * @param stored undefined for something new
 * @throws AppError `VALIDATION_FAILED` for a mask that stands for nothing stored
 */
export function urlToStore(field: string, given: string, stored?: string): string {
  const shown = given.replaceAll(/%E2%80%A2/gi, '•');
  if (!shown.includes('•') || given === stored) return given;
  if (stored !== undefined && shown === maskUrl(stored)) return stored;
  throw invalidField(
    `/${field}`,
    'Has the mask in it that stands for a secret. Send the URL in full, or leave it out.',
  );
}
