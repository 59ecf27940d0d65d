import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Account, canEnter, isRoot, unprivilegedAccount } from './account.ts';
import { providePostgresBinaries } from './binaries.ts';
import { PostgresSetupError } from './setup-error.ts';

/** Where PostgreSQL stores its files, and the account it runs under. */
export type Place = {
  /** The directory that holds everything for this database. */
  home: string;
  /** Whether `home` is outside the data directory, because PostgreSQL's account can't enter the data directory. */
  isRelocated: boolean;
  /** The directory with `bin/initdb` and `bin/postgres`. */
  binaries: string;
  /** Undefined means this process's account. */
  account: Account | undefined;
};

// Both survive a reboot. The second is for systems with a read-only /var/lib.
const SHARED_DIRECTORIES = ['/var/lib/tollgate', '/var/tmp/tollgate'];

/**
 * Chooses where to store the database for `dataDir`: in `dataDir/postgres` or, if this process is root and PostgreSQL's
 * account can't enter `dataDir`, in another directory that `dataDir/postgres` links to. If you delete the data
 * directory, a new one doesn't use the old database.
 *
 * @param onStep see `EmbeddedPostgresOptions`
 */
export async function choosePlace(dataDir: string, onStep: (what: string) => void): Promise<Place> {
  await mkdir(dataDir, { recursive: true });
  const base = await realpath(resolve(dataDir));
  const entry = join(base, 'postgres');
  await removeDanglingLink(entry);

  const owner = await stat(entry).catch(() => undefined);
  const account = isRoot() ? await accountFor(owner) : undefined;
  // If root still owns the directory, another process is about to hand it over.
  if (!owner || (account && owner.uid === 0)) await makeHome(base, entry, account);

  const home = await realpath(entry);
  await refuseClosedHome(home, account);
  return {
    home,
    isRelocated: home !== entry,
    account,
    binaries: await providePostgresBinaries(account, async () => (account ? sharedDirectory(account) : base), onStep),
  };
}

/**
 * Uses the account that owns existing files, because another user, or root with another account, may have created them.
 */
async function accountFor(owner: Account | undefined): Promise<Account> {
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return unprivilegedAccount();
}

async function makeHome(base: string, entry: string, account: Account | undefined): Promise<void> {
  if (await canEnter(account, base)) {
    await makePrivateDirectory(entry, account);
    return;
  }
  if (!account) throw new PostgresSetupError(`The directory ${base} is not accessible. Choose another DATA_DIR.`);
  const home = join(await sharedDirectory(account), randomBytes(8).toString('hex'));
  await makePrivateDirectory(home, account);
  await symlink(home, entry).catch(async (error: NodeJS.ErrnoException) => {
    // Another process created the link at the same time, so use its directory.
    await rm(home, { recursive: true });
    if (error.code !== 'EEXIST') throw error;
  });
}

async function makePrivateDirectory(directory: string, account: Account | undefined): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account) await chown(directory, account.uid, account.gid);
}

/** A directory owned by root that anyone can enter, for files that PostgreSQL's account needs. */
async function sharedDirectory(account: Account): Promise<string> {
  for (const directory of SHARED_DIRECTORIES) {
    const isMade = await mkdir(directory, { recursive: true }).then(
      () => true,
      () => false,
    );
    if (!isMade) continue;
    // Anyone can write to /var/tmp, so don't trust a directory that someone else created there.
    const found = await lstat(directory);
    if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) continue;
    await chmod(directory, 0o755);
    if (await canEnter(account, directory)) return directory;
  }
  const either = new Intl.ListFormat('en', { type: 'disjunction' });
  throw new PostgresSetupError(
    `PostgreSQL cannot run as root, and no other account can access ${either.format(['the data directory', ...SHARED_DIRECTORIES])}. ` +
      'Start as a normal user, choose another DATA_DIR, or set DATABASE_URL to the URL of a PostgreSQL server.',
  );
}

async function refuseClosedHome(home: string, account: Account | undefined): Promise<void> {
  if (await canEnter(account, home)) return;
  const { uid } = await stat(home);
  throw new PostgresSetupError(
    `The database in ${home} belongs to user ID ${uid}, which cannot access it. Give that account access to the ` +
      'directories above it, start as the user who created it, or choose another DATA_DIR.',
  );
}

async function removeDanglingLink(entry: string): Promise<void> {
  const target = await readlink(entry).catch(() => undefined);
  if (target === undefined) return;
  const isThere = await stat(entry).then(
    () => true,
    () => false,
  );
  if (!isThere) await rm(entry);
}
