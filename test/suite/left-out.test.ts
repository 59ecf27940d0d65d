import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeLeftOut, REQUIREMENTS } from '../support/left-out.ts';

const ROOT = resolve(import.meta.dirname, '../..');

describe('the end of a test run', () => {
  test('lists each missing requirement, how to meet it, and the skipped tests', () => {
    const lines = describeLeftOut([
      { file: 'test/console/projects.browser.test.ts', title: 'creates a project' },
      { file: 'test/console/projects.browser.test.ts', title: 'deletes a project' },
      { file: 'test/docs/nginx.service.test.ts', title: 'passes the client address on' },
    ]);
    expect(lines).toEqual([
      'Left out: 3 tests.',
      '  2 tests skipped without Chromium. Install it (on Debian: apt-get install chromium), or set CHROMIUM to its path.',
      '    test/console/projects.browser.test.ts: 2 tests',
      '  1 test skipped without nginx. Install it (on Debian: apt-get install nginx-light).',
      '    test/docs/nginx.service.test.ts: passes the client address on',
    ]);
  });

  test('lists tests that are skipped without a requirement', () => {
    expect(describeLeftOut([{ file: 'test/money.test.ts', title: 'adds' }])).toEqual([
      'Left out: 1 test.',
      '  1 test skipped in the code.',
      '    test/money.test.ts: adds',
    ]);
  });

  test('lists nothing if every test ran', () => {
    expect(describeLeftOut([])).toEqual([]);
  });
});

test('every file that skips tests is listed with its requirement', () => {
  const skipping = globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) =>
    /\b(test|describe)\.(skipIf|runIf|skip)\(|\bskip\b.*\}\) =>/.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(skipping.length).toBeGreaterThan(10);
  expect(skipping.filter((file) => !REQUIREMENTS.some(({ files }) => files.test(file)))).toEqual([]);
});
