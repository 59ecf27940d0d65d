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
  /** The worker stopped while the request may have been in flight. */
  | 'interrupted'
  /** An error in this service. See its log. */
  | 'internal';

const RESPONDED: ReadonlySet<string> = new Set<AttemptErrorClass>(['http_status', 'redirect', 'rejected', 'internal']);

/** Whether a request that failed with this class may have arrived even though it got no response. */
export function isAmbiguous(errorClass: string | null): boolean {
  return errorClass !== null && !isUnsent(errorClass) && !RESPONDED.has(errorClass);
}
