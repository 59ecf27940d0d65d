import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { binariesPackage } from '../../../src/database/embedded/binaries.ts';

const LOCK = resolve(import.meta.dirname, '../../../package-lock.json');
const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as {
  packages: Record<string, { os?: string[]; cpu?: string[] }>;
};

test.each([
  ['linux', 'x64'],
  ['linux', 'arm64'],
  ['darwin', 'x64'],
  ['darwin', 'arm64'],
])('PostgreSQL for %s-%s comes from a package that npm installs there', (platform, architecture) => {
  const name = binariesPackage(platform, architecture);
  expect(packages[`node_modules/${name}`]).toMatchObject({ os: [platform], cpu: [architecture] });
});

test.each([
  ['win32', 'x64'],
  ['win32', 'arm64'],
  ['linux', 'riscv64'],
  ['freebsd', 'x64'],
])('without PostgreSQL for %s-%s, the error says to set DATABASE_URL', (platform, architecture) => {
  expect(() => binariesPackage(platform, architecture)).toThrow(
    `The embedded PostgreSQL server runs only on Linux and macOS, not on ${platform}-${architecture}. Set DATABASE_URL to the URL of a PostgreSQL server.`,
  );
});
