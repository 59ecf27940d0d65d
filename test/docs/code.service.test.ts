import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { allBlocks, listPages, readPage } from './pages.ts';

/** Commands that check the syntax of a program on standard input, by language. They print nothing if it is correct. */
const CHECKS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  go: ['gofmt', '-l', '-e'],
  python: ['python3', '-c', 'import ast, sys; ast.parse(sys.stdin.read())'],
};

const pages = await Promise.all(
  (await listPages()).map(async (path) => ({ path, blocks: allBlocks(await readPage(path)) })),
);
const programs = pages.flatMap(({ path, blocks }) =>
  blocks.filter(({ language }) => CHECKS[language]).map(({ language, code }) => ({ path, language, code })),
);

test.for(programs)('the $language program in $path is valid and formatted', ({ language, code }, { skip }) => {
  const [program, ...args] = CHECKS[language]!;
  const { error, stdout, stderr, status } = spawnSync(program, args, { input: code, encoding: 'utf8' });
  if (error) skip(`${program} is not installed`);
  expect({ output: stdout + stderr, status }).toEqual({ output: '', status: 0 });
});

test('there are programs in both languages', () => {
  expect(new Set(programs.map(({ language }) => language))).toEqual(new Set(Object.keys(CHECKS)));
});
