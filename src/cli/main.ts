import { type Command, CommanderError } from 'commander';
import { codeOf, EXIT_CODES, Failure } from './failure.ts';
import { note } from './output.ts';
import { problemOf } from './problem.ts';
import { createProgram } from './program.ts';

const args = process.argv.slice(2);
const isJson = args.includes('--json');

async function run(): Promise<void> {
  const program = createProgram();
  if (isJson) silenceErrors(program);
  await program.parseAsync(args, { from: 'user' });
}

/** Commander prints its own errors. With --json, they are reported like all other errors. */
function silenceErrors(command: Command): void {
  command.configureOutput({ outputError: () => {}, writeErr: () => {} });
  command.commands.forEach(silenceErrors);
}

/** What to print for an error, or undefined if there is nothing to print. */
function wordsOf(error: unknown): string | undefined {
  if (error instanceof CommanderError && error.exitCode === 0) return undefined;
  if (error instanceof Error && error.name === 'AbortError') return undefined;
  if (isJson) return JSON.stringify(problemOf(error));
  // Commander has printed its own errors.
  if (error instanceof CommanderError) return undefined;
  if (error instanceof Failure) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage;
  if (error instanceof Error && error.name === 'AbortError') return EXIT_CODES.interrupted;
  return error instanceof Failure ? codeOf(error) : EXIT_CODES.failed;
}

// Programs such as `head` close the pipe when they have read enough.
process.stdout.on('error', () => process.exit(0));

run().catch((error) => {
  const words = wordsOf(error);
  if (words !== undefined) note(words);
  process.exitCode = exitCodeOf(error);
});
