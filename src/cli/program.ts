import { Command } from 'commander';
import { VERSION } from '../version.ts';
import { addBuyers } from './commands/buyers.ts';
import { addCompletion } from './commands/completion.ts';
import { addDeliveries } from './commands/deliveries.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor.ts';
import { addExport } from './commands/export.ts';
import { addAdopt, addHold } from './commands/hold.ts';
import { addImport } from './commands/import.ts';
import { addList } from './commands/list.ts';
import { addListen } from './commands/listen.ts';
import { addMcp } from './commands/mcp.ts';
import { addMembers } from './commands/members.ts';
import { addPay } from './commands/pay.ts';
import { addReplay } from './commands/replay.ts';
import { addSearch } from './commands/search.ts';
import { addStart } from './commands/start.ts';
import { addToken } from './commands/token.ts';
import { addTrigger } from './commands/trigger.ts';
import { addUsers } from './commands/users.ts';
import { addWhoami } from './commands/whoami.ts';

const COMMANDS = [
  addStart,
  addDemo,
  addPay,
  addListen,
  addTrigger,
  addList,
  addSearch,
  addDeliveries,
  addReplay,
  addImport,
  addExport,
  addMcp,
  addDoctor,
  addHold,
  addAdopt,
  addBuyers,
  addMembers,
  addToken,
  addWhoami,
  addUsers,
  addCompletion,
];

/** The tree of commands. Nothing runs until it parses arguments. */
export function createProgram(): Command {
  const program = new Command('tollgate')
    .description('The Tollgate command line')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('Run with --help for usage.')
    .addHelpText('after', '\nThe exit codes and the format of --json are in docs/cli.md.');
  for (const add of COMMANDS) add(program);
  return program;
}
