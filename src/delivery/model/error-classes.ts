import { type EgressErrorClass, isUnsent } from '../../egress/egress-error.ts';

/** Why an attempt failed: a network error, the response, or our own error. */
export type AttemptErrorClass =
  | EgressErrorClass
  /** A response without a success status. */
  | 'http_status'
  /** A redirect. Redirects aren't followed. */
  | 'redirect'
  /** A response with a success status that rejected the event. */
  | 'rejected'
  /** The vendor is blocking this service's IP address. */
  | 'blocked'
  /** The vendor didn't issue an access token, so nothing was sent. */
  | 'no_access_token'
  /** The worker stopped while the request may have been in flight. */
  | 'interrupted'
  /** An error in this service. See its log. */
  | 'internal';

const NOT_AMBIGUOUS: ReadonlySet<string> = new Set<AttemptErrorClass>([
  'http_status',
  'redirect',
  'rejected',
  'blocked',
  'no_access_token',
  'internal',
]);

/** Whether a request that failed with this class may have arrived even though it got no response. */
export function isAmbiguous(errorClass: string | null): boolean {
  return errorClass !== null && !isUnsent(errorClass) && !NOT_AMBIGUOUS.has(errorClass);
}
