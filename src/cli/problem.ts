import { CommanderError } from 'commander';
import { codeOf, EXIT_CODES, type ExitReason, Failure, type FieldError } from './failure.ts';

/** An error as `--json` prints it. Uses the same field names as the service's problem details (RFC 9457). */
export type CliProblem = {
  /** What went wrong, in plain words. */
  detail: string;
  /** The service's error code, or the reason why the command failed. */
  code: string;
  exitCode: number;
  /** Whether a retry may succeed. */
  isTransient: boolean;
  /** The values that the service rejected. */
  errors: FieldError[];
};

/** What --json prints for an error. */
export function problemOf(error: unknown): CliProblem {
  if (error instanceof Failure) {
    const { message, exitReason, isTransient, code, errors } = error;
    return { detail: message, code: code ?? nameOf(exitReason), exitCode: codeOf(error), isTransient, errors };
  }
  const isUsage = error instanceof CommanderError;
  const detail = error instanceof Error ? error.message.replace(/^error: /, '') : String(error);
  const reason = isUsage ? 'usage' : 'failed';
  return { detail, code: nameOf(reason), exitCode: EXIT_CODES[reason], isTransient: false, errors: [] };
}

/** `NOT_FOUND` for `notFound`. */
function nameOf(reason: ExitReason): string {
  return reason.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
