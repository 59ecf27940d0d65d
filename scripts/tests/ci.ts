import { countLine, failedFiles, failureLines, type Report } from './report.ts';
import { runTests } from './run-tests.ts';

/**
 * Runs `npm test` as CI does: a file that fails is run once more, alone and in a new process. If it then passes, the
 * run goes on, and its tests are reported as flaky.
 *
 * Arguments are options for `npm test`. The last line has the numbers of passed and failed tests.
 */

/** More flaky files than this fail the run, because then something is wrong that is no accident. */
const MAX_FLAKY_FILES = 5;

const args = process.argv.slice(2);
const npmTest = (...files: string[]) => runTests(['npm', 'test', '--', ...files, ...args]);

const first = await npmTest();
const report: Report = { ...first, files: [...first.files] };
const flaky: string[] = [];

// If more files failed than may be flaky, the run fails in any case. Then, the first ones suffice to tell why.
for (const failed of failedFiles(first).slice(0, MAX_FLAKY_FILES + 1)) {
  process.stdout.write(`\nRunning ${failed.file} again, alone\n`);
  const again = await npmTest(failed.file);
  const file = again.files.find(({ file }) => file === failed.file);
  if (!file || again.errors.length > 0 || file.failures.length > 0 || file.passed === 0) continue;
  report.files[first.files.indexOf(failed)] = file;
  flaky.push(...failed.failures.map(({ title }) => `flaky: ${failed.file} › ${title}`));
}

const flakyFiles = failedFiles(first).length - failedFiles(report).length;
if (flakyFiles > MAX_FLAKY_FILES) {
  report.errors.push(`${flakyFiles} files failed and passed when they ran again; at most ${MAX_FLAKY_FILES} may do so`);
}
const isEmpty =
  report.errors.length === 0 && report.files.every(({ passed, failures }) => passed + failures.length === 0);
if (isEmpty) report.errors.push('no test ran');

for (const line of [...flaky, ...failureLines(report), countLine(report)]) process.stdout.write(`${line}\n`);
if (!countLine(report).endsWith(' 0 failed')) process.exitCode = 1;
