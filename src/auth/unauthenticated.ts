import { AppError } from '../errors.ts';

/** The challenge for a request without a credential (RFC 6750 §3). */
const CHALLENGE = 'Bearer realm="tollgate"';

/** The error for a request without a credential. */
export function noCredential(): AppError {
  return new AppError('UNAUTHENTICATED', { headers: { 'www-authenticate': CHALLENGE } });
}

/**
 * The error for a rejected credential.
 *
 * @param detail one sentence that tells the caller what is wrong, without quoting any part of the credential. There is
 *   no `cause`: errors from `jose` contain the payload, which doesn't belong in a log.
 */
export function badCredential(detail: string): AppError {
  // RFC 6750 §3 allows printable ASCII except quotes and backslashes.
  const description = detail.replace(/[^ !#-[\]-~]/g, "'");
  return new AppError('UNAUTHENTICATED', {
    detail,
    headers: { 'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="${description}"` },
  });
}
