/** The exit codes, documented in docs/cli.md. */
export const EXIT_CODES = { failed: 1, usage: 2, unreachable: 3, refused: 4, interrupted: 130 } as const;

export type ExitReason = keyof typeof EXIT_CODES;

/** Why a command can't continue. The message tells the user what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitReason: ExitReason;
  /** Whether a retry may succeed. */
  readonly isTransient: boolean;
  /** The service's error code, if it returned one. */
  readonly code: string | undefined;

  constructor(exitReason: ExitReason, message: string, options: { isTransient?: boolean; code?: string } = {}) {
    super(message);
    this.exitReason = exitReason;
    this.isTransient = options.isTransient ?? false;
    this.code = options.code;
  }
}
