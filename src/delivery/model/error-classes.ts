import { type EgressErrorClass, isUnsent } from '../../egress/egress-error.ts';

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

const RESPONDED: ReadonlySet<string> = new Set<AttemptErrorClass>(['http_status', 'redirect', 'rejected', 'internal']);

/** Whether it is open what became of a request that failed so: it may have arrived, and there was no answer. */
export function isAmbiguous(errorClass: string | null): boolean {
  return errorClass !== null && !isUnsent(errorClass) && !RESPONDED.has(errorClass);
}
