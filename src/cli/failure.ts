/** What the command ends with. Documented in docs/cli.md. */
export const EXIT_CODES = { failed: 1, usage: 2, unreachable: 3, refused: 4, interrupted: 130 } as const;

export type ExitReason = keyof typeof EXIT_CODES;

/** Why a command cannot go on, said so that its user knows what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitReason: ExitReason;
  /** Whether the same may succeed later. */
  readonly isTransient: boolean;
  /** Code of the service's error, when it gave one. */
  readonly code: string | undefined;

  constructor(exitReason: ExitReason, message: string, options: { isTransient?: boolean; code?: string } = {}) {
    super(message);
    this.exitReason = exitReason;
    this.isTransient = options.isTransient ?? false;
    this.code = options.code;
  }
}
