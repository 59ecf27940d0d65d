import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { acquireLock } from '../../../scripts/setup-lock.mjs';

const PACKAGES = join(import.meta.dirname, 'packages');
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache');

const run = promisify(execFile);

/**
 * Installs the clients and code generators of `packages/package.json`. They aren't development dependencies, because
 * they are large, and only the tests of the clients need them. Installed once for each version of the lockfile.
 *
 * @returns the folder that has their `node_modules`. Don't change anything in it.
 */
export async function installClients(): Promise<string> {
  const lockfile = await readFile(join(PACKAGES, 'package-lock.json'));
  const target = join(CACHE, `clients-${createHash('sha256').update(lockfile).digest('hex').slice(0, 12)}`);
  if (await isInstalled(target)) return target;
  // Several test processes need them at the same time, and each installation takes half a minute of CPU time.
  const lock = await acquireLock(join(CACHE, 'clients-lock'), () => {});
  try {
    if (!(await isInstalled(target))) await install(target);
  } finally {
    lock.release();
  }
  return target;
}

async function install(target: string): Promise<void> {
  const draft = `${target}-draft`;
  await rm(draft, { recursive: true, force: true });
  await cp(PACKAGES, draft, { recursive: true });
  // npm must run on the same Node as the tests, because it checks which versions of Node a package supports.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: draft, env });
  await rename(draft, target);
}

async function isInstalled(folder: string): Promise<boolean> {
  return await readFile(join(folder, 'node_modules/.package-lock.json')).then(
    () => true,
    () => false,
  );
}
