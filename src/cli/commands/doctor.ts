import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import { print, printJson } from '../output.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check everything the service needs; run this where the service runs, with the same environment')
    .option('--json', 'print one JSON value per line')
    .action(async (options: { json?: boolean }) => {
      // Loads most of the service. Other commands shouldn't have to wait for that.
      const { examine } = await import('../doctor/examine.ts');
      for await (const finding of examine(process.env)) {
        if (options.json) printJson(finding);
        else print(lineOf(finding));
        if (finding.status === 'failed') process.exitCode = 1;
      }
    });
}

function lineOf({ check, status, message, advice }: Finding): string {
  const line = `${status.padEnd(8)}${check}: ${message}`;
  return advice ? `${line}\n        → ${advice}` : line;
}
