import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Syntax that cmd.exe doesn't understand. npm runs scripts with it on Windows. */
const POSIX_ONLY: [what: string, pattern: RegExp][] = [
  ['a builtin of POSIX shells', /(^|&& ?)(exec|export|source|\.|set|rm|cp|mkdir) /],
  ['a variable set for one command', /(^|&& ?)[A-Z_]+=/],
  ['a variable', /\$\w|\$\{/],
  ['single quotes', /'/],
  ['a command in the background or after a semicolon', /;|(?<!&)&(?!&)/],
];

test.each(Object.entries(scripts))('the script %s runs in any shell: %s', (_name, command) => {
  expect(POSIX_ONLY.filter(([, pattern]) => pattern.test(command)).map(([what]) => what)).toEqual([]);
});
