import type { Command } from 'commander';
import type { Finding } from '../doctor/finding.ts';
import { addExamples } from '../examples.ts';
import { EXIT_CODES } from '../failure.ts';
import { print, printJson } from '../output.ts';
import { noteIfSlow } from '../slow.ts';

export function addDoctor(program: Command): void {
  addExamples(program.command('doctor'), 'tollgate doctor', 'tollgate doctor --json')
    .description('check everything the service needs; run this where the service runs, with the same environment')
    .option('--json', 'print JSON Lines: one line per check')
    .action(async (options: { json?: boolean }) => {
      // Imported on demand, so that other commands don't load most of the service.
      const { examine } = await import('../doctor/examine.ts');
      const findings = examine(process.env);
      for (;;) {
        const { value: finding, done } = await noteIfSlow(findings.next(), 'Checking…');
        if (done) return;
        if (options.json) printJson(finding);
        else print(lineOf(finding));
        if (finding.status === 'failed') process.exitCode = EXIT_CODES.failed;
      }
    });
}

function lineOf({ check, status, message, advice }: Finding): string {
  const line = `${status.padEnd(8)}${check}: ${message}`;
  return advice ? `${line}\n        → ${advice}` : line;
}
