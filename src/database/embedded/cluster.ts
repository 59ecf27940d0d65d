import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Place } from './place.ts';
import { isAlive } from './process.ts';
import { PostgresSetupError } from './setup-error.ts';

const run = promisify(execFile);

/**
 * Creates the database cluster if it doesn't exist. It is created in a temporary directory and moved when complete, so
 * the directory never contains a partial cluster. If several processes create it at the same time, one of them wins.
 *
 * @param onStep see `EmbeddedPostgresOptions`
 * @returns the directory with `cluster/` (PostgreSQL's files) and `password` (of the superuser)
 */
export async function ensureCluster(place: Place, onStep: (what: string) => void): Promise<string> {
  const database = join(place.home, 'database');
  if (await exists(database)) return database;

  onStep(`Creating a PostgreSQL database in ${place.home}`);
  await removeUnfinished(place.home);
  const unfinished = join(place.home, `unfinished-${process.pid}-${randomBytes(4).toString('hex')}`);
  await initialize(place, unfinished);
  await rename(unfinished, database).catch(async (error) => {
    await rm(unfinished, { recursive: true });
    if (!(await exists(database))) throw error;
  });
  return database;
}

async function initialize({ binaries, account }: Place, directory: string): Promise<void> {
  const password = join(directory, 'password');
  await mkdir(directory, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (account) {
    await chown(directory, account.uid, account.gid);
    await chown(password, account.uid, account.gid);
  }
  const options = [
    `--pgdata=${join(directory, 'cluster')}`,
    '--username=tollgate',
    `--pwfile=${password}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
  ];
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  await run(join(binaries, 'bin/initdb'), options, { ...account, cwd: '/', env }).catch(
    (error: { stderr?: string }) => {
      throw new PostgresSetupError(
        `PostgreSQL could not create its database in ${directory}: ${error.stderr?.trim() || error}\n` +
          'Choose another DATA_DIR, or set DATABASE_URL to the URL of a PostgreSQL server.',
        { cause: error },
      );
    },
  );
}

/** Removes leftovers from processes that were killed while creating the database. */
async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = /^unfinished-(\d+)-/.exec(name)?.[1];
    if (pid && !isAlive(Number(pid))) await rm(join(home, name), { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
