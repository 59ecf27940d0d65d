import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { runShell } from '../support/run-shell.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('the last lines of a run without Chromium name the skipped test file and say how to install Chromium', async () => {
  const command = `cd '${ROOT}' && node_modules/.bin/vitest run test/console/sign-in.browser.test.ts`;
  const { exitCode, stdout, stderr } = await runShell(command, { CHROMIUM: '', VITEST: '' });
  expect(exitCode, stdout + stderr).toBe(0);
  expect(stderr.trimEnd().split('\n').slice(-2)).toEqual([
    expect.stringMatching(
      /^ {2}\d+ tests? skipped without Chromium\. Install it \(on Debian: apt-get install chromium\)/,
    ),
    expect.stringMatching(/^ {4}test\/console\/sign-in\.browser\.test\.ts: /),
  ]);
});
