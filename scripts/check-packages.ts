/**
 * Checks that npm installs only what was reviewed: the rules in `package-rules.ts`, and the registry's signature of each
 * installed package. Signatures need the registry, so they are checked once for each package-lock.json, and skipped if
 * the registry can't be reached or doesn't sign packages. Exits with 1 if anything is wrong.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Audit, readAudit } from './audit-signatures.ts';
import { faultsIn, type PackageFiles } from './package-rules.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Contains the hash of the last package-lock.json whose packages have valid signatures. */
const STAMP = join(ROOT, 'node_modules/.tollgate/signatures');
/** Without a network, the check should not wait for long. */
const AUDIT = [
  'audit',
  'signatures',
  '--json',
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=500',
  '--fetch-timeout=15000',
];
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall'];

const read = (path: string) => readFile(join(ROOT, path), 'utf8');
const lock = await read('package-lock.json');
const faults = faultsIn({
  lock: withInstalledScripts(JSON.parse(lock)),
  manifest: JSON.parse(await read('package.json')),
  settings: await read('.npmrc'),
});
const audit = faults.length > 0 ? undefined : await checkSignatures();
for (const fault of [...faults, ...(audit?.faults ?? [])]) console.error(fault);
if (faults.length > 0) console.error('See “Dependencies” in CONTRIBUTING.md.');
else console.log(`Every package in package-lock.json has a hash. ${audit!.summary}`);
if (faults.length > 0 || audit!.faults.length > 0) process.exitCode = 1;

/** Marks the packages that have an install script. package-lock.json itself may hide it. */
function withInstalledScripts(parsed: PackageFiles['lock']): PackageFiles['lock'] {
  for (const [folder, item] of Object.entries(parsed.packages)) {
    const manifest = join(ROOT, folder, 'package.json');
    // Packages for other platforms aren't installed.
    if (folder === '' || !existsSync(manifest)) continue;
    const { scripts = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts?: Record<string, string> };
    if (INSTALL_SCRIPTS.some((name) => scripts[name]) || existsSync(join(ROOT, folder, 'binding.gyp')))
      item.hasInstallScript = true;
  }
  return parsed;
}

async function checkSignatures(): Promise<Audit> {
  const hash = createHash('sha256').update(lock).digest('hex');
  if ((await readFile(STAMP, 'utf8').catch(() => '')) === hash)
    return { summary: 'Their signatures have been checked before.', faults: [], isVerified: true };
  // On Windows, npm is a script, which only a shell can run.
  const options = { cwd: ROOT, maxBuffer: 64 * 2 ** 20, shell: process.platform === 'win32' };
  const stdout = await promisify(execFile)('npm', AUDIT, options).then(
    (result) => result.stdout,
    (error: Error & { stdout?: string }) => error.stdout || JSON.stringify({ error: { summary: error.message } }),
  );
  const audit = readAudit(stdout);
  if (audit.isVerified) {
    await mkdir(dirname(STAMP), { recursive: true });
    await writeFile(STAMP, hash);
  }
  return audit;
}
