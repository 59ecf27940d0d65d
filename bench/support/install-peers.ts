import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../peers');
const INSTALL = ['install', '--no-package-lock', '--omit=optional', '--ignore-scripts', '--loglevel=error'];

/**
 * Installs the peers into bench/peers, unless they are already installed. They are kept out of the project's packages,
 * because only the benchmarks need them.
 *
 * @returns whether the peers are installed.
 */
export function installPeers(): boolean {
  if (areInstalled()) return true;
  console.error('Installing the peers …');
  spawnSync('npm', INSTALL, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] });
  return areInstalled();
}

function areInstalled(): boolean {
  const read = (path: string) => JSON.parse(readFileSync(join(FOLDER, path), 'utf8'));
  const { dependencies } = read('package.json') as { dependencies: Record<string, string> };
  return Object.entries(dependencies).every(([name, version]) => {
    const path = join('node_modules', name, 'package.json');
    return existsSync(join(FOLDER, path)) && read(path).version === version;
  });
}
