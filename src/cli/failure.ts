/** The exit codes. docs/cli.md has the same table, which a test compares with this one. */
export const EXIT_CODES = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  unauthenticated: 5,
  forbidden: 6,
  notFound: 7,
  rateLimited: 8,
  interrupted: 130,
} as const;

export type ExitReason = keyof typeof EXIT_CODES;

export const EXIT_CODE_MEANINGS: Readonly<Record<ExitReason, string>> = {
  ok: 'success',
  failed: 'the command ran, but the result was bad: a delivery wasn’t accepted, or a check failed',
  usage: 'incorrect usage: an invalid option, or a missing credential',
  unreachable: 'the service is unreachable or temporarily unavailable',
  refused: 'the service rejected the input, or the operation isn’t possible in the current state',
  unauthenticated: 'the service rejected the credential',
  forbidden: 'the credential doesn’t allow this',
  notFound: 'the project or the resource doesn’t exist, or belongs to someone else',
  rateLimited: 'too many requests; try again later',
  interrupted: 'Ctrl-C while waiting for a result',
};

/** The service's errors that have their own exit code. */
const REASONS: ReadonlyMap<string, ExitReason> = new Map([
  ['UNAUTHENTICATED', 'unauthenticated'],
  ['RECENT_SIGN_IN_REQUIRED', 'unauthenticated'],
  ['FORBIDDEN', 'forbidden'],
  ['NOT_FOUND', 'notFound'],
  ['RATE_LIMITED', 'rateLimited'],
]);

export type FieldError = { pointer: string; message: string };

type Details = { isTransient?: boolean; code?: string; errors?: FieldError[] };

/** Thrown when a command can't continue. The message tells the user what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitReason: ExitReason;
  /** Whether a retry may succeed. */
  readonly isTransient: boolean;
  /** The service's error code, if it returned one. */
  readonly code: string | undefined;
  /** The values that the service rejected. */
  readonly errors: FieldError[];

  constructor(exitReason: ExitReason, message: string, details: Details = {}) {
    super(message);
    this.exitReason = REASONS.get(details.code ?? '') ?? exitReason;
    this.isTransient = details.isTransient ?? false;
    this.code = details.code;
    this.errors = details.errors ?? [];
  }
}

export function codeOf({ exitReason }: Failure): number {
  return EXIT_CODES[exitReason];
}

/** The rejected values, to add to the service's message, which names the first one. Empty if there is only one. */
export function otherErrors(errors: readonly FieldError[] = []): string {
  return errors.length < 2 ? '' : errors.map(({ pointer, message }) => `\n  ${pointer}: ${message}`).join('');
}

/** Advice for people at a terminal, to add to the service's message. Starts with a space unless it is empty. */
export function adviceFor(code: string | undefined): string {
  return ADVICE.get(code ?? '') ?? '';
}

const ADVICE: ReadonlyMap<string, string> = new Map([
  ['UNAUTHENTICATED', ' Set TOLLGATE_API_KEY to an API key, or TOLLGATE_TOKEN to a token that has not expired.'],
  ['INVALID_RESPONSE', ' Check --url or TOLLGATE_URL.'],
]);
