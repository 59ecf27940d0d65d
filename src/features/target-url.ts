import { z } from 'zod';
import type { EgressAllow } from '../egress/allow-list.ts';
import { checkTargetUrl } from '../egress/url.ts';

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
