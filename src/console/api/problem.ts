import type { CombinedError } from 'urql';

/** What went wrong, as the error catalogue of the service tells it (docs/errors.md). */
export type Problem = {
  code: string;
  message: string;
  requestId: string | undefined;
  /** Refused values: JSON pointers into the input, with a sentence each. */
  fields: { pointer: string; message: string }[];
  retryable: boolean;
};

type Extensions = {
  code?: string;
  requestId?: string;
  retryable?: boolean;
  errors?: { pointer: string; message: string }[];
  field?: string;
};

export function toProblem(error: CombinedError): Problem {
  const first = error.graphQLErrors[0];
  if (!first) return { ...NO_ANSWER, message: 'The server could not be reached.' };
  const { code = 'INTERNAL', requestId, retryable = false, errors, field } = first.extensions as Extensions;
  const fields = errors ?? (field ? [{ pointer: field, message: first.message }] : []);
  return { code, message: first.message, requestId, fields, retryable };
}

const NO_ANSWER = { code: 'NO_ANSWER', requestId: undefined, fields: [], retryable: true };

/** What a person can do about it, where the sentence of the service does not say it for the console. */
const ADVICE: Readonly<Record<string, string>> = {
  NO_ANSWER: 'Check your connection, and that the service runs. What you see may be out of date.',
  NOT_FOUND: 'It may have been deleted, or belongs to another account. Choose a project on the left, or go back.',
  FORBIDDEN: 'Sign in as the owner of the project: API keys may not do this.',
  CONNECTOR_LIMIT_REACHED: 'See “Limits & usage” for what your tier includes.',
  WEBHOOK_LIMIT_REACHED: 'See “Limits & usage” for what your tier includes.',
  RATE_LIMITED: 'Your account asked too often this minute. Wait a moment, then try again.',
  VALIDATION_FAILED: 'Correct what is marked and send it again.',
  CONFLICT: 'Reload to see what is there now, then try again.',
  INTERNAL: 'Try again. If it stays, give the request id to whoever runs this service.',
  UNAVAILABLE: 'Try again in a moment.',
};

export function adviceFor({ code }: Problem): string | undefined {
  return ADVICE[code];
}

/** The refused values by the names that form fields have: `/config/to/0` is `config.to.0`. */
export function errorsByField({ fields }: Problem): Record<string, string> {
  return Object.fromEntries(fields.map(({ pointer, message }) => [nameOf(pointer), message]));
}

function nameOf(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}
