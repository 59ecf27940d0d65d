import { Command, CommanderError } from 'commander';
import { VERSION } from '../version.ts';
import { addDeliveries } from './commands/deliveries.ts';
import { addDoctor } from './commands/doctor.ts';
import { addListen } from './commands/listen.ts';
import { addReplay } from './commands/replay.ts';
import { addToken } from './commands/token.ts';
import { addTrigger } from './commands/trigger.ts';
import { EXIT_CODES, Failure } from './failure.ts';
import { note } from './output.ts';

const COMMANDS = [addListen, addTrigger, addDeliveries, addReplay, addDoctor, addToken];

async function run(args: string[]): Promise<void> {
  const program = new Command('tollgate')
    .description('The Tollgate command line')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('Run with --help for usage.');
  for (const add of COMMANDS) add(program);
  await program.parseAsync(args, { from: 'user' });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage;
  if (error instanceof Error && error.name === 'AbortError') return EXIT_CODES.interrupted;
  if (error instanceof Failure) {
    note(error.message);
    return EXIT_CODES[error.exitReason];
  }
  note(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return EXIT_CODES.failed;
}

// Programs such as `head` close the pipe when they have read enough.
process.stdout.on('error', () => process.exit(0));

run(process.argv.slice(2)).catch((error) => {
  process.exitCode = exitCodeOf(error);
});
