import { ERROR_MESSAGES } from '../../egress/egress-error.ts';
import type { TargetCheck } from '../../egress/url.ts';

const ACCEPTED = ' You can use any https URL with a public host, on port 443 or 1024 and above.';
/** The settings that allow private addresses, with the sentence that mentions each one in an error. */
const OPENED_BY = {
  EGRESS_ALLOW: ' In development, you can allow other addresses with the EGRESS_ALLOW setting.',
  WEBHOOK_ALLOW: ' The operator can use WEBHOOK_ALLOW to allow other addresses for a project.',
  UPSTREAM_ALLOW: ' The operator can use UPSTREAM_ALLOW to allow other addresses for a project.',
};

export type OpeningSetting = keyof typeof OPENED_BY;

/** Explains why a URL can't be used, which URLs can be used, and which setting allows others. */
export function refusalOf(check: Exclude<TargetCheck, { ok: true }>, setting: OpeningSetting): string {
  return check.isClosed ? check.message + ACCEPTED + OPENED_BY[setting] : check.message;
}

/** Explains why a name can't be used if its address turned out not to be public when the service connected to it. */
export function addressRefusal(setting: OpeningSetting): string {
  return refusalOf({ ok: false, message: ERROR_MESSAGES.target_not_allowed, isClosed: true }, setting);
}
