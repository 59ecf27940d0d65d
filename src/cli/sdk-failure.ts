import { TollgateError } from '../../packages/sdk/src/index.ts';
import { adviceFor, Failure, otherErrors } from './failure.ts';

/** Turns an SDK error into a command failure. Other errors are returned unchanged. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof TollgateError)) return error;
  if (error.cause instanceof Failure) return error.cause;
  const { code, message, errors, status } = error;
  const isTransient = status === undefined || status === 429 || status >= 500;
  const isUnreachable = isTransient || code === 'INVALID_RESPONSE';
  const text = message + otherErrors(errors) + adviceFor(code);
  return new Failure(isUnreachable ? 'unreachable' : 'refused', text, { isTransient, code, errors });
}
