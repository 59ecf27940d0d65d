import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A cluster's server process, as described in its `postmaster.pid`. */
export type Postmaster = { pid: number; port: number; isReady: boolean };

const POLL_MILLISECONDS = 20;

const run = promisify(execFile);

/**
 * Reads `postmaster.pid`: process ID, cluster directory, start time, port, socket directory, listen address, shared
 * memory key, and status, one per line (https://www.postgresql.org/docs/18/storage-file-layout.html).
 *
 * @returns undefined unless the process is running and is this cluster's server: after a crash, its ID may be reused
 */
export async function livePostmaster(cluster: string): Promise<Postmaster | undefined> {
  const lines = await readLockFile(cluster);
  const pid = Number(lines[0]);
  if (!isAlive(pid) || !(await commandLine(pid)).includes(cluster)) return undefined;
  return { pid, port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' };
}

/**
 * Removes leftovers from a crash that would prevent a start: shuts down a server without a supervisor and waits for it,
 * and removes a lock file with the process ID of an unrelated process (PostgreSQL only detects IDs that don't exist).
 *
 * @param isSupervised called last, because another process may be starting the server right now
 */
export async function clearRemains(cluster: string, isSupervised: () => boolean): Promise<void> {
  const remaining = await livePostmaster(cluster);
  if (isSupervised()) return;
  if (remaining) {
    // SIGINT is PostgreSQL's fast shutdown.
    process.kill(remaining.pid, 'SIGINT');
    while ((await livePostmaster(cluster))?.pid === remaining.pid) await delay(POLL_MILLISECONDS);
    return;
  }
  const [pid] = await readLockFile(cluster);
  if (isAlive(Number(pid)) && !isSupervised()) await rm(join(cluster, 'postmaster.pid'), { force: true });
}

/** Whether any process has this ID. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function readLockFile(cluster: string): Promise<string[]> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n');
}

/** A process's command line. Empty if the process has exited, even if it is still a zombie. */
async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return run('ps', ['-o', 'args=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  );
}
