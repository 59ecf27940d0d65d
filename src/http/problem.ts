import type { Logger } from 'pino';
import { unavailability } from '../database/unavailable.ts';
import { AppError, ERRORS, type ErrorCode, type FieldError } from '../errors.ts';

/** An error response from the REST API (RFC 9457). */
export type Problem = {
  /** The URL of the page about the error. */
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ErrorCode;
  requestId: string;
  errors: FieldError[];
};

export const PROBLEM_MEDIA_TYPE = 'application/problem+json; charset=utf-8';

/** Converts anything thrown to an `AppError`. Logs and masks errors that aren't the caller's fault. */
export function toAppError(error: unknown, log: Logger): AppError {
  if (error instanceof AppError) return error;
  const code = transportCode(error);
  if (code) return new AppError(code, { cause: error });
  const unavailable = unavailability(error);
  if (unavailable) log.warn({ err: error }, 'the database is unavailable');
  else log.error({ err: error }, 'unexpected error');
  return unavailable ?? new AppError('INTERNAL', { cause: error });
}

/** The code for requests that Fastify rejects before a handler runs. */
function transportCode(error: unknown): ErrorCode | undefined {
  const { statusCode } = (error ?? {}) as { statusCode?: number };
  if (statusCode === 413) return 'PAYLOAD_TOO_LARGE';
  if (statusCode === 415) return 'UNSUPPORTED_MEDIA_TYPE';
  if (statusCode === 404) return 'NOT_FOUND';
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? 'BAD_REQUEST' : undefined;
}

/**
 * Returns the URL of the page about an error: absolute if the service knows its public URL. Otherwise, it is relative
 * to the URL of the request (RFC 9457 §3.1.1), because the address that a client uses can't be trusted behind a proxy.
 */
export function problemType(code: ErrorCode, publicUrl: string | undefined): string {
  return `${publicUrl ?? ''}/docs/errors#${code.toLowerCase()}`;
}

export function toProblem(
  error: AppError,
  { instance, requestId, publicUrl }: { instance: string; requestId: string; publicUrl: string | undefined },
): Problem {
  return {
    type: problemType(error.code, publicUrl),
    title: ERRORS[error.code].message,
    status: error.status,
    detail: error.message,
    instance,
    code: error.code,
    requestId,
    errors: error.fields,
  };
}

/** Tells the client that a more recent sign-in is needed (RFC 9470 §3). */
const SIGN_IN_CHALLENGE =
  'Bearer realm="tollgate", error="insufficient_user_authentication", error_description="Sign in again"';

export function errorHeaders(error: AppError): Record<string, string> {
  return {
    ...(error.retryAfterSeconds !== undefined && { 'retry-after': String(error.retryAfterSeconds) }),
    ...(error.maxAgeSeconds !== undefined && {
      'www-authenticate': `${SIGN_IN_CHALLENGE}, max_age="${error.maxAgeSeconds}"`,
    }),
    ...error.headers,
  };
}
