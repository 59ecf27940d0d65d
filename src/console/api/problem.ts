import type { CombinedError } from 'urql';

/** An API error from the service's error catalog (docs/errors.md). */
export type Problem = {
  code: string;
  message: string;
  requestId: string | undefined;
  /** Invalid fields: a JSON pointer into the input and a message for each. */
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
  if (!first) return NO_RESPONSE;
  const { code = 'INTERNAL', requestId, retryable = false, errors, field } = first.extensions as Extensions;
  const fields = errors ?? (field ? [{ pointer: field, message: first.message }] : []);
  return { code, message: first.message, requestId, fields, retryable };
}

/** Shown when a request gets no response. */
export const UNREACHABLE = 'Can’t reach the server. Check your connection, and make sure the service is running.';

const NO_RESPONSE = { code: 'NO_RESPONSE', message: UNREACHABLE, requestId: undefined, fields: [], retryable: true };

/** For a link to something that no longer exists or never did. */
export function notFound(what: string): Problem {
  const message = `No such ${what} in this project.`;
  return { code: 'NOT_FOUND', message, requestId: undefined, fields: [], retryable: false };
}

/** What the user can do in the console, if the service's own message doesn't say. */
const ADVICE: Readonly<Record<string, string>> = {
  PAGE_FAILED: 'Your connection may be down, or the console may have been updated. Reload the page.',
  NO_RESPONSE: 'This page may be out of date.',
  NOT_FOUND: 'It may have been deleted, or it may belong to another account.',
  RECENT_SIGN_IN_REQUIRED:
    'This affects who gets paid, what buyers receive, or who can change that. Sign in again, then try again.',
  FORBIDDEN: 'Sign in as the project owner. API keys can’t do this.',
  ACCOUNT_BLOCKED: 'Contact the operator of this server.',
  CONNECTOR_LIMIT_REACHED: 'Open “Limits & usage” to see what your tier includes.',
  WEBHOOK_LIMIT_REACHED: 'Open “Limits & usage” to see what your tier includes.',
  RATE_LIMITED: 'You’ve made too many requests. Wait a moment, then try again.',
  VALIDATION_FAILED: 'Fix the highlighted fields, then try again.',
  CONFLICT: 'Reload the page to see the latest version, then try again.',
  INTERNAL: 'Try again. If the error persists, send the request ID to your operator.',
  UNAVAILABLE: 'Try again in a moment.',
};

/** Problems in the browser rather than on the server. */
const OWN_CODES: ReadonlySet<string> = new Set(['NO_RESPONSE', 'PAGE_FAILED']);

/** The heading of an error in docs/errors.md. Undefined for the console's own errors. */
export function docsSectionOf({ code }: Pick<Problem, 'code'>): string | undefined {
  return OWN_CODES.has(code) ? undefined : code.toLowerCase();
}

export function adviceFor({ code }: Problem): string | undefined {
  return ADVICE[code];
}

/** Messages by form field name: the pointer `/config/to/0` becomes `config.to.0`. */
export function errorsByField({ fields }: Problem): Record<string, string> {
  return Object.fromEntries(fields.map(({ pointer, message }) => [nameOf(pointer), message]));
}

function nameOf(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}
