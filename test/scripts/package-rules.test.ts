import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readAudit } from '../../scripts/audit-signatures.ts';
import { faultsIn, type PackageFiles } from '../../scripts/package-rules.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const readAll = (): PackageFiles => ({
  lock: JSON.parse(read('package-lock.json')),
  manifest: JSON.parse(read('package.json')),
  settings: read('.npmrc'),
});
const HASH = `sha512-${'A'.repeat(86)}==`;

test('all packages follow the rules', () => {
  expect(Object.keys(readAll().lock.packages).length).toBeGreaterThan(1_000);
  expect(faultsIn(readAll())).toEqual([]);
});

test.each<[string, (files: PackageFiles) => void, string]>([
  ['a package without a hash', ({ lock }) => delete lock.packages['node_modules/zod']!.integrity, 'no SHA-512 hash'],
  [
    'a package with a weak hash',
    ({ lock }) => (lock.packages['node_modules/zod']!.integrity = 'sha1-FCxynHRGlS4MSBOGJJx1LYTVkn4='),
    'no SHA-512 hash',
  ],
  [
    'a package with a weak hash as well',
    ({ lock }) => (lock.packages['node_modules/zod']!.integrity += ' sha1-FCxynHRGlS4MSBOGJJx1LYTVkn4='),
    'no SHA-512 hash',
  ],
  [
    'a package from another server',
    ({ lock }) => (lock.packages['node_modules/zod']!.resolved = 'https://packages.example/zod-4.6.7.tgz'),
    'an address of its own',
  ],
  [
    'a package from a Git repository',
    ({ lock }) =>
      (lock.packages['node_modules/zod'] = { version: '4.6.7', resolved: 'git+ssh://git@git.example/zod.git#0123456' }),
    'an address of its own',
  ],
  [
    'a link to a folder',
    ({ lock }) => (lock.packages['node_modules/zod'] = { resolved: '../elsewhere' }),
    'an address of its own',
  ],
  [
    'a package in another’s folder',
    ({ lock }) => (lock.packages['node_modules/zod']!.name = 'zodd'),
    'a different package',
  ],
  ['a range', ({ lock }) => (lock.packages['node_modules/zod']!.version = '^4.6.7'), 'no exact version'],
  [
    'an install script',
    ({ lock }) =>
      (lock.packages['node_modules/ws/node_modules/new'] = {
        version: '1.0.0',
        integrity: HASH,
        hasInstallScript: true,
      }),
    'node_modules/ws/node_modules/new has an install script',
  ],
  [
    'an install script that nobody needs anymore',
    ({ manifest }) => (manifest.allowScripts!.gone = true),
    'gone has no install script',
  ],
  ['a registry', (files) => (files.settings += '@prisma:registry=https://packages.example/\n'), '.npmrc sets'],
  ['an old lock file', ({ lock }) => (lock.lockfileVersion = 1), 'must have version 3'],
])('%s is found', (_name, plant, fault) => {
  const files = readAll();
  plant(files);
  expect(faultsIn(files)).toContainEqual(expect.stringContaining(fault));
});

const unsigned = { name: 'zod', version: '4.6.7' };
test.each([
  ['valid signatures', { invalid: [], missing: [] }, [], 'Their signatures are valid.'],
  ['an invalid signature', { invalid: [unsigned], missing: [] }, ['zod@4.6.7 has an invalid signature'], '1 signature'],
  [
    'a missing signature',
    { invalid: [], missing: [unsigned] },
    [expect.stringContaining('has no signature')],
    '1 sign',
  ],
  ['no network', { error: { code: 'ENOTFOUND', summary: 'request to the registry failed' } }, [], 'SKIPPED'],
  [
    'a registry without keys',
    { error: { summary: 'found no dependencies to audit that were installed from a supported registry' } },
    [],
    'SKIPPED',
  ],
  [
    'another error',
    { error: { code: 'EUSAGE', summary: 'wrong' } },
    [expect.stringContaining('EUSAGE: wrong')],
    'could not',
  ],
])('an audit with %s is understood', (_name, output, faults, summary) => {
  const audit = readAudit(JSON.stringify(output));
  expect(audit.faults).toEqual(faults);
  expect(audit.summary).toContain(summary);
  expect(audit.isVerified).toBe(summary === 'Their signatures are valid.');
});
