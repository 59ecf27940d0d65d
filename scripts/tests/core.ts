import { spawn } from 'node:child_process';

/**
 * `npm test`: runs Vitest with the tests in `CORE` (`test/tiers.ts`) or, if there are arguments that select tests, such
 * as a file or a project, with those.
 */
const args = process.argv.slice(2);
const isCore = args.every((arg) => arg.startsWith('--reporter'));

const child = spawn('vitest', ['run', ...args], {
  stdio: 'inherit',
  env: { ...process.env, ...(isCore && { TEST_SELECTION: 'core' }) },
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 1;
  if (signal) process.stderr.write(`Vitest was ended by ${signal}\n`);
});
