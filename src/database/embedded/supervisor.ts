import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { chown, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './account.ts';
import { isAlive } from './process.ts';

/**
 * The shell that PostgreSQL runs under. Every process that uses the database keeps the named pipe `control` open for
 * writing and announces itself with a line, which the shell acknowledges with a file in `users/`. No matter how a
 * process ends, the kernel closes its end of the pipe. After the last one is closed, the shell reads end of file and
 * sends PostgreSQL SIGINT for a fast shutdown. The pipe has a reader only while the shell runs, so opening the pipe
 * shows whether the shell is running.
 *
 * The shell restarts a server killed by a signal (for example, by the kernel's out-of-memory killer). It doesn't
 * restart a server that exited, except after a crash, when children of the old server may keep the directory busy for a
 * few seconds.
 */
const SUPERVISOR = `
trap '' HUP INT TERM
umask 077
home=$1 lock=$2/postmaster.pid
shift 2
exec 3<&0 </dev/null >>"$home/postgres.log" 2>&1

watch() {
  # Two shells may have started at the same time. The one whose server holds the directory continues; the other must not read a line.
  until read -r server <"$lock" && [ "$server" = "$1" ]; do kill -0 $$ || exit; sleep 0.02; done
  while read -r user <&3; do : >"$home/users/$user"; done
  exec 3<&-
  while
    read -r server <"$lock" && kill -INT "$server"
    kill -0 $$
  do sleep 0.1; done
}

watcher= retries=0
while :; do
  "$@" 3<&- &
  server=$!
  [ "$watcher" ] || { watch "$server" 2>/dev/null & watcher=$!; }
  wait "$server"
  status=$?
  if [ $status -gt 128 ]; then retries=20
  elif [ $status -ne 0 ] && [ $retries -gt 0 ]; then retries=$((retries - 1)); sleep 0.5 3<&-
  else break
  fi
done
kill -KILL "$watcher"
`;

/** A process's use of the running database. */
export type Attachment = {
  /** Whether the shell has read the announcement. From then on, it doesn't shut down before `detach`. */
  isAcknowledged(): Promise<boolean>;
  detach(): Promise<void>;
};

const run = promisify(execFile);

/** Attaches to a running supervisor, or returns undefined if no supervisor is running. */
export function attachToSupervisor(home: string): Attachment | undefined {
  const pipe = openPipe(home);
  return pipe === undefined ? undefined : attach(home, pipe);
}

/** Whether a supervisor is running, even if it is shutting down. */
export function isSupervised(home: string): boolean {
  const pipe = openPipe(home);
  if (pipe !== undefined) closeSync(pipe);
  return pipe !== undefined;
}

/** Starts a supervisor with PostgreSQL (`command`) under it, and attaches to it. */
export async function startSupervisor(
  home: string,
  cluster: string,
  account: Account | undefined,
  command: string[],
): Promise<Attachment> {
  const control = join(home, 'control');
  await makeNamedPipe(control, account);
  await forgetDeadUsers(home, account);

  // Opened for reading and writing first, because opening one end of a pipe blocks until the other end is open.
  const both = openSync(control, 'r+');
  const reader = openSync(control, 'r');
  const writer = openSync(control, 'w');
  closeSync(both);
  try {
    const shell = spawn('/bin/sh', ['-c', SUPERVISOR, 'tollgate-postgres', home, cluster, ...command], {
      ...account,
      cwd: home,
      // In a separate session, because Ctrl-C in a terminal must not reach PostgreSQL before its users have finished.
      detached: true,
      stdio: [reader, 'ignore', 'ignore'],
      // Doesn't inherit this process's environment: it may contain secrets, and PG* variables would change the server's
      // settings.
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    });
    await new Promise((resolve, reject) => shell.once('spawn', resolve).once('error', reject));
    shell.unref();
  } catch (error) {
    closeSync(writer);
    throw error;
  } finally {
    closeSync(reader);
  }
  return attach(home, writer);
}

/** Whether any running process is attached. */
export async function hasUsers(home: string): Promise<boolean> {
  const users = await readdir(join(home, 'users')).catch(() => []);
  return users.some((user) => isAlive(Number.parseInt(user, 10)));
}

function attach(home: string, pipe: number): Attachment {
  const name = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const file = join(home, 'users', name);
  let isOpen = true;
  try {
    writeSync(pipe, `${name}\n`);
  } catch (error) {
    // EPIPE: the shell has just ended and won't acknowledge this line.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
  return {
    async isAcknowledged() {
      return stat(file).then(
        () => true,
        () => false,
      );
    },
    async detach() {
      if (!isOpen) return;
      isOpen = false;
      await rm(file, { force: true });
      closeSync(pipe);
    },
  };
}

function openPipe(home: string): number | undefined {
  try {
    return openSync(join(home, 'control'), constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENXIO: the pipe has no reader.
    if (code === 'ENXIO' || code === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeNamedPipe(path: string, account: Account | undefined): Promise<void> {
  await run('mkfifo', ['-m', '600', path], { ...account, cwd: '/' }).catch(async (error) => {
    const isThere = await stat(path).then(
      (found) => found.isFIFO(),
      () => false,
    );
    if (!isThere) throw error;
  });
}

async function forgetDeadUsers(home: string, account: Account | undefined): Promise<void> {
  const users = join(home, 'users');
  await mkdir(users, { recursive: true });
  if (account) await chown(users, account.uid, account.gid);
  for (const user of await readdir(users)) {
    if (!isAlive(Number.parseInt(user, 10))) await rm(join(users, user), { force: true });
  }
}
