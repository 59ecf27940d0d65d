import { spawn } from 'node:child_process';
import { countLine, failedFiles } from './report.ts';
import { runTests } from './run-tests.ts';

/**
 * `npm run test:stress -- 10`: runs `npm test` ten times with two busy loops beside it, as on a slow machine, and
 * prints how many runs passed, and which tests failed.
 */

const BUSY_LOOPS = 2;

const runs = Number(process.argv[2] ?? 10);
if (!Number.isSafeInteger(runs) || runs < 1) throw new Error('The argument is the number of runs, such as 10');

const loops = Array.from({ length: BUSY_LOOPS }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
process.on('exit', () => {
  for (const loop of loops) loop.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const lines: string[] = [];
let passedRuns = 0;
for (let run = 1; run <= runs; run++) {
  const startedAt = performance.now();
  const report = await runTests(['npm', 'test', '--']);
  const failures = failedFiles(report).flatMap(({ file, failures }) =>
    failures.map(({ title }) => `${file} › ${title}`),
  );
  if (failures.length + report.errors.length === 0) passedRuns++;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  lines.push(
    `run ${run}: ${countLine(report)} in ${seconds} s`,
    ...[...failures, ...report.errors].map((one) => `  ${one}`),
  );
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
}

process.stdout.write(`${passedRuns} of ${runs} runs passed\n`);
process.exit(passedRuns === runs ? 0 : 1);
