import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { SLOWEST } from '../support/slowest-first.ts';
import { CORE } from '../tiers.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('npm test names only files that exist, and each of them once', () => {
  const files = Object.values(CORE).flat();
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  expect(files).toEqual([...new Set(files)]);
});

test('the files that run first exist', () => {
  expect(SLOWEST.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test.each(Object.entries(CORE))(
  'npm test includes tests of %s that need a service or a browser',
  (_mechanism, files) => {
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !/\.(service|browser)\.test\.ts$/.test(file))).toEqual([]);
  },
);
