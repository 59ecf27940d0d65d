import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Report } from './report.ts';

const REPORTER = resolve(import.meta.dirname, 'reporter.ts');

/**
 * Runs a command that runs Vitest, with its output in the terminal.
 *
 * @param command such as `['vitest', 'run']`, to which the reporters are added.
 * @returns its report. A run that ended before it reported has one error.
 */
export async function runTests(command: readonly string[]): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-report-'));
  const path = join(folder, 'report.json');
  try {
    const code = await run([...command, '--reporter=default', `--reporter=${REPORTER}`], { TEST_REPORT: path });
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return { files: [], errors: [`The run ended with exit code ${code} and without a report`] };
    return withUnexplainedExit(JSON.parse(text) as Report, code);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A run that failed for a reason that isn't in its report must not pass. */
function withUnexplainedExit(report: Report, code: number | null): Report {
  const isExplained = report.errors.length > 0 || report.files.some(({ failures }) => failures.length > 0);
  if (code === 0 || isExplained) return report;
  return { ...report, errors: [`The run ended with exit code ${code}, but no test failed`] };
}

function run([program, ...args]: readonly string[], env: Record<string, string>): Promise<number | null> {
  const child = spawn(program!, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
}
