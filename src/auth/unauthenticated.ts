import { AppError } from '../errors.ts';

/** The challenge of an answer to a request that carried no credential (RFC 6750 §3). */
const CHALLENGE = 'Bearer realm="tollgate"';

/** The error of a request without a credential. */
export function noCredential(): AppError {
  return new AppError('UNAUTHENTICATED', { headers: { 'www-authenticate': CHALLENGE } });
}

/**
 * The error of a credential that is not accepted.
 *
 * @param detail one sentence for the caller: what is wrong with it, nothing of what it contains. There is no `cause`:
 *   the errors of `jose` carry the payload, which has no place in a log.
 */
export function badCredential(detail: string): AppError {
  // RFC 6750 §3 allows printable ASCII without quotes and backslashes.
  const description = detail.replace(/[^ !#-[\]-~]/g, "'");
  return new AppError('UNAUTHENTICATED', {
    detail,
    headers: { 'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="${description}"` },
  });
}
