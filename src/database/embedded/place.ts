import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Account, canEnter, isRoot, unprivilegedAccount } from './account.ts';
import { providePostgresBinaries } from './binaries.ts';

/** Where PostgreSQL lives and as whom it runs. */
export type Place = {
  /** The directory with everything that belongs to this database. */
  home: string;
  /** Whether `home` is not inside the data directory, because PostgreSQL's account cannot enter that one. */
  isRelocated: boolean;
  /** The directory that holds `bin/initdb` and `bin/postgres`. */
  binaries: string;
  /** Undefined: the account of this process. */
  account: Account | undefined;
};

// Both outlive a restart of the machine. The second is for systems whose /var/lib is read-only.
const SHARED_DIRECTORIES = ['/var/lib/tollgate', '/var/tmp/tollgate'];

/**
 * Settles where the database of `dataDir` lives: in `dataDir/postgres`, or, when this process is root and PostgreSQL's
 * account cannot enter `dataDir`, in a directory it can, to which `dataDir/postgres` becomes a symbolic link. The link
 * ties the two together: removing the data directory leaves nothing behind that a later one would find.
 */
export async function choosePlace(dataDir: string): Promise<Place> {
  await mkdir(dataDir, { recursive: true });
  const base = await realpath(resolve(dataDir));
  const entry = join(base, 'postgres');
  await removeDanglingLink(entry);

  const owner = await stat(entry).catch(() => undefined);
  const account = isRoot() ? await accountFor(owner) : undefined;
  // A directory that is still root's is one that another process is about to hand over.
  if (!owner || (account && owner.uid === 0)) await makeHome(base, entry, account);

  const home = await realpath(entry);
  await refuseClosedHome(home, account);
  return {
    home,
    isRelocated: home !== entry,
    account,
    binaries: await providePostgresBinaries(account, async () => (account ? sharedDirectory(account) : base)),
  };
}

/** Existing files decide: they may have been made by a user before root came, or under an account chosen differently. */
async function accountFor(owner: Account | undefined): Promise<Account> {
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return unprivilegedAccount();
}

async function makeHome(base: string, entry: string, account: Account | undefined): Promise<void> {
  if (await canEnter(account, base)) {
    await makePrivateDirectory(entry, account);
    return;
  }
  if (!account) throw new Error(`The directory ${base} cannot be entered. Choose another DATA_DIR.`);
  const home = join(await sharedDirectory(account), randomBytes(8).toString('hex'));
  await makePrivateDirectory(home, account);
  await symlink(home, entry).catch(async (error: NodeJS.ErrnoException) => {
    // A process that started at the same moment has made the link: its directory is the one.
    await rm(home, { recursive: true });
    if (error.code !== 'EEXIST') throw error;
  });
}

async function makePrivateDirectory(directory: string, account: Account | undefined): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account) await chown(directory, account.uid, account.gid);
}

/** A directory of root's that everybody may enter, for what PostgreSQL's account has to reach. */
async function sharedDirectory(account: Account): Promise<string> {
  for (const directory of SHARED_DIRECTORIES) {
    const isMade = await mkdir(directory, { recursive: true }).then(
      () => true,
      () => false,
    );
    if (!isMade) continue;
    // /var/tmp is open to everybody: a directory that somebody else has put there is not to be trusted.
    const found = await lstat(directory);
    if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) continue;
    await chmod(directory, 0o755);
    if (await canEnter(account, directory)) return directory;
  }
  throw new Error(
    `PostgreSQL does not run as root, and no other account can enter the data directory, ${SHARED_DIRECTORIES.join(' or ')}. ` +
      'Start as a normal user, choose another DATA_DIR, or set DATABASE_URL to a PostgreSQL server.',
  );
}

async function refuseClosedHome(home: string, account: Account | undefined): Promise<void> {
  if (await canEnter(account, home)) return;
  const { uid } = await stat(home);
  throw new Error(
    `The database in ${home} belongs to the account with number ${uid}, which cannot be used to open it. Open the ` +
      'directories above it to that account, start as the user who made it, or choose another DATA_DIR.',
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
