import type { EgressErrorClass } from '../../egress/egress-error.ts';

/** Why a try has failed, beside the classes of the network: the receiver's answer, or trouble of our own. */
export type AttemptErrorClass =
  | EgressErrorClass
  /** An answer with a status that is not success. */
  | 'http_status'
  /** A redirect: none is followed. */
  | 'redirect'
  /** An answer with a good status that yet says no. */
  | 'rejected'
  /** The worker ended while the request may have been under way. */
  | 'interrupted'
  /** A fault of this service; its log says more. */
  | 'internal';

// These say that no connection was made. After any other failure without an answer the request may have arrived.
const NOT_SENT: ReadonlySet<string> = new Set<AttemptErrorClass>([
  'target_not_allowed',
  'dns_error',
  'connection_refused',
  'connect_timeout',
  'tls_error',
]);
const ANSWERED: ReadonlySet<string> = new Set<AttemptErrorClass>(['http_status', 'redirect', 'rejected', 'internal']);

/** Whether a request that failed so may have reached the receiver. */
export function hasBeenSent(errorClass: string): boolean {
  return !NOT_SENT.has(errorClass);
}

/** Whether it is open what became of a request that failed so: it may have arrived, and there was no answer. */
export function isAmbiguous(errorClass: string | null): boolean {
  return errorClass !== null && hasBeenSent(errorClass) && !ANSWERED.has(errorClass);
}
