import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import { print, printJson } from '../output.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check what a service with this environment needs: run it where the service runs')
    .option('--json', 'one JSON value a line, for programs')
    .action(async (options: { json?: boolean }) => {
      // Loads half the service, which the other commands need not wait for.
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
