import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { NODE } from './support/programs.ts';

test.each([
  ['by itself', 0],
  ['by process.exit', 0],
  ['by an error', 1],
])('every line is written, in order and without credentials, when a process ends %s', async (ending, exitCode) => {
  const child = spawn(NODE, [join(import.meta.dirname, 'log-process.ts'), ending], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect(child.exitCode).toBe(exitCode);
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { number: number; token: string });
  expect(lines.map(({ number }) => number)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  expect(output).not.toContain('hidden');
});
