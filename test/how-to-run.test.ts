import { expect, test } from 'vitest';
import { commandOfPackage } from '../src/how-to-run.ts';
import { VERSION } from '../src/version.ts';

const TARBALL = `./tollgate-${VERSION}.tgz`;
const INSTALLED = 'node_modules/.bin/tollgate';

test.each<[string, string | undefined, string[], string]>([
  ['that is on the PATH', undefined, [], 'tollgate'],
  ['that npx runs from a file in this folder', 'exec', [TARBALL], `npx ${TARBALL}`],
  ['that is installed in this folder', 'exec', [INSTALLED], 'npx tollgate'],
  ['that is installed beside its file', 'exec', [INSTALLED, TARBALL], 'npx tollgate'],
])('users run a package %s with the command that works there', (_where, npmCommand, files, expected) => {
  expect(commandOfPackage(npmCommand, (path) => files.includes(path))).toBe(expected);
});
