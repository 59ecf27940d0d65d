import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { PostgresSetupError } from './setup-error.ts';

/** The operating-system account that PostgreSQL runs under. */
export type Account = { uid: number; gid: number };

// PostgreSQL's usual account first, then one that every system has.
const UNPRIVILEGED_ACCOUNTS = ['postgres', '_postgres', 'nobody'];

/** Whether this process is root, which PostgreSQL refuses to run as. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Finds an account for PostgreSQL if this process is root. The account must be in `/etc/passwd`, because initdb looks
 * up its own name. No account is created.
 */
export async function unprivilegedAccount(): Promise<Account> {
  const accounts = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .map((line) => line.split(':'))
    // Values outside this range, such as macOS's -2 for nobody, can't be passed to setuid as is.
    .filter(([, , uid, gid]) => Number(uid) > 0 && Number(gid) > 0);
  const preferred = UNPRIVILEGED_ACCOUNTS.map((name) => accounts.find((account) => account[0] === name));
  const chosen = [...preferred, ...accounts].find((account) => account !== undefined);
  if (!chosen) {
    throw new PostgresSetupError(
      'PostgreSQL cannot run as root, and there is no other account to run it as. Set DATABASE_URL to the URL of a PostgreSQL server.',
    );
  }
  return { uid: Number(chosen[2]), gid: Number(chosen[3]) };
}

/** Runs a program under the account and returns whether it exited with 0. */
export async function succeedsAs(account: Account | undefined, program: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { ...account, cwd: '/' }, (error) => resolve(error === null));
  });
}

/** Whether the account can enter the directory and all directories above it. */
export async function canEnter(account: Account | undefined, directory: string): Promise<boolean> {
  return succeedsAs(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', directory]);
}
