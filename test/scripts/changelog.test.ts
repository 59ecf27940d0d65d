import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changelogProblems, releasesIn } from '../../scripts/changelog.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(resolve(ROOT, path), 'utf8');
const versionIn = (path: string) => (JSON.parse(read(path)) as { version: string }).version;

const GOOD = `# Changelog

## [0.2.0] - unreleased

### Added

- Something.

### What you must do

- Restart.

## [0.1.0] - 2026-01-31

The first release.

### What you must do

Nothing.
`;

test('the changelog has the right format, and its newest version is the current one', () => {
  expect(changelogProblems(read('CHANGELOG.md'), versionIn('package.json'))).toEqual([]);
});

test('the SDK has the same version as the service', () => {
  expect(versionIn('packages/sdk/package.json')).toBe(versionIn('package.json'));
});

test('a version’s notes are everything below its heading', () => {
  expect(releasesIn(GOOD)).toEqual([
    { version: '0.2.0', date: 'unreleased', notes: '### Added\n\n- Something.\n\n### What you must do\n\n- Restart.' },
    { version: '0.1.0', date: '2026-01-31', notes: 'The first release.\n\n### What you must do\n\nNothing.' },
  ]);
});

describe('the format', () => {
  test('allows a version without changes for operators, if it says so', () => {
    expect(changelogProblems(GOOD, '0.2.0')).toEqual([]);
  });

  test.each([
    ['[0.2.0]', '0.2', 'must look like "## [1.2.3] - 2026-01-31"'],
    ['0.2.0] - unreleased', '0.2.0] - soon', 'must look like'],
    ['[0.2.0]', '[0.3.0]', 'The first version must be 0.2.0'],
    ['2026-01-31', 'unreleased', '0.1.0 must have a date.'],
    ['2026-01-31', '2026-13-01', "the date 2026-13-01, which doesn't exist"],
    ['[0.1.0]', '[0.2.0]', '0.2.0 must come before the version above it.'],
    ['[0.1.0]', '[0.10.0]', '0.10.0 must come before the version above it.'],
    ['### What you must do\n\nNothing.', 'Nothing.', '0.1.0 needs a section "What you must do"'],
    ['\n\nNothing.', '', '0.1.0 has an empty section "What you must do".'],
    ['### Added', '### New', '0.2.0 has an unknown section "New".'],
    ['### Added', '### What you must do', '0.2.0 has the section "What you must do" twice.'],
  ])('does not allow %j to become %j', (part, other, problem) => {
    expect(GOOD).toContain(part);
    expect(changelogProblems(GOOD.replace(part, other), '0.2.0')).toContainEqual(expect.stringContaining(problem));
  });
});
