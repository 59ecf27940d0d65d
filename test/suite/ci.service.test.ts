import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runShell } from '../support/run-shell.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const PASSES = `test('adds', () => expect(1 + 1).toBe(2)); test('subtracts', () => expect(2 - 1).toBe(1));`;
const ALWAYS_FAILS = `test('adds wrongly', () => expect(1 + 1).toBe(3)); ${PASSES}`;
const FAILS_ONCE = `
  const marker = import.meta.filename + '.ran';
  const isFirst = !existsSync(marker);
  writeFileSync(marker, '');
  test('passes when it runs again', () => expect(isFirst).toBe(false));
`;
const CANT_BE_LOADED = `import './missing.js'; ${PASSES}`;
const FAILS_OUTSIDE = `test('leaves something behind', () => new Promise((done) => {
  setTimeout(() => { done(); throw new Error('too late'); });
}));`;

/** Runs CI's test command in a folder with these test files. Returns its exit code and the lines of its output. */
async function runCi(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-ci-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, code] of Object.entries(files)) {
    const imports = `import { existsSync, writeFileSync } from 'node:fs';\nimport { expect, test } from 'vitest';\n`;
    await writeFile(join(folder, `${name}.test.js`), imports + code);
  }
  const command = `cd '${ROOT}' && node scripts/tests/ci.ts --root='${folder}'`;
  const { exitCode, stdout } = await runShell(command, { VITEST: '', TEST_SELECTION: '' });
  const lines = stdout.trimEnd().split('\n');
  return { exitCode, lines, last: lines.at(-1), flaky: lines.filter((line) => line.startsWith('flaky: ')) };
}

test('CI passes if all tests do', async () => {
  expect(await runCi({ a: PASSES, b: PASSES })).toMatchObject({ exitCode: 0, last: '4 passed, 0 failed', flaky: [] });
});

test('CI runs a failed file again, names it as flaky, and passes if it passes then', async () => {
  expect(await runCi({ a: PASSES, b: FAILS_ONCE })).toMatchObject({
    exitCode: 0,
    last: '3 passed, 0 failed',
    flaky: ['flaky: b.test.js › passes when it runs again'],
  });
});

test.each([
  ['always fails', ALWAYS_FAILS, 'adds wrongly', '4 passed, 1 failed'],
  ['can’t be loaded', CANT_BE_LOADED, 'could not be loaded', '2 passed, 1 failed'],
  ['fails outside of its tests', FAILS_OUTSIDE, 'an error outside of its tests', '3 passed, 1 failed'],
])('CI fails if a file %s', async (_case, code, title, last) => {
  const result = await runCi({ a: PASSES, b: code });
  expect(result).toMatchObject({ exitCode: 1, last, flaky: [] });
  expect(result.lines).toContain(`FAILED b.test.js › ${title}`);
});

test('CI fails if more than five files are flaky', async () => {
  const names = ['b', 'c', 'd', 'e', 'f', 'g'];
  const result = await runCi({ a: PASSES, ...Object.fromEntries(names.map((name) => [name, FAILS_ONCE])) });
  expect(result).toMatchObject({ exitCode: 1, last: '8 passed, 1 failed' });
  expect(result.flaky).toHaveLength(6);

  const five = Object.fromEntries(names.slice(1).map((name) => [name, FAILS_ONCE]));
  expect(await runCi(five)).toMatchObject({ exitCode: 0, last: '5 passed, 0 failed' });
});

test('CI fails if there is no test', async () => {
  expect(await runCi({})).toMatchObject({ exitCode: 1, last: '0 passed, 1 failed' });
});
