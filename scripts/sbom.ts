import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Bom, type Lock, sbomOf } from './sbom-of.ts';

/**
 * Writes an SBOM (CycloneDX 1.5, JSON) of everything in the release: the packages bundled into the server, console, and
 * documentation, and those that npm installs with the package. Build them first.
 *
 * Usage: `node scripts/sbom.ts [<file> [<folder of the build>]]`
 */
const ROOT = resolve(import.meta.dirname, '..');

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8')) as T;
}

const { version } = await readJson<{ version: string }>(join(ROOT, 'package.json'));
const [file = join(ROOT, `tollgate-${version}.cdx.json`), dist = join(ROOT, 'dist')] = process.argv.slice(2);
const bundled = await Promise.all(
  ['server', 'console/.vite', 'docs/.vite'].map((folder) => readJson<string[]>(join(dist, folder, 'packages.json'))),
);
// On Windows, npm is a script, which only a shell can run.
const { stdout } = await promisify(execFile)(
  'npm',
  ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application', '--offline'],
  { cwd: ROOT, maxBuffer: 64 * 2 ** 20, shell: process.platform === 'win32' },
);
const lock = await readJson<Lock>(join(ROOT, 'package-lock.json'));
const bom = sbomOf(JSON.parse(stdout) as Bom, lock, bundled.flat());
await writeFile(file, `${JSON.stringify(bom, null, 2)}\n`);
process.stdout.write(`${file}: ${bom.components.length} packages\n`);
