// Allows only one setup at a time in a folder. Plain JavaScript without dependencies, like `setup.mjs`.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const POLL_MILLISECONDS = 100;

/**
 * Waits until no other process holds the lock, then takes it. The lock is a folder with one file, named after its
 * holder, that lists the running processes. A folder can be renamed only onto an empty one, so only one process gets
 * the lock, and removing a crashed holder's file never removes another holder's.
 *
 * @param onWait called once with the process that holds the lock.
 */
export async function acquireLock(folder, onWait) {
  const lock = join(folder, 'lock');
  const name = `${process.pid}-${randomBytes(6).toString('hex')}`;
  const ticket = join(folder, name);
  mkdirSync(ticket, { recursive: true });
  noteProcess(join(ticket, name), process.pid);
  let isTold = false;
  while (!renameOnto(ticket, lock)) {
    const holder = filesIn(lock)[0];
    if (holder === undefined) continue;
    if (!isAtWork(join(lock, holder))) {
      rmSync(join(lock, holder), { force: true, recursive: true });
      continue;
    }
    if (!isTold) onWait(pidOf(holder));
    isTold = true;
    await setTimeout(POLL_MILLISECONDS);
  }
  for (const left of filesIn(folder)) {
    if (left !== 'lock' && startOf(pidOf(left)) === undefined)
      rmSync(join(folder, left), { force: true, recursive: true });
  }

  const release = () => {
    rmSync(join(lock, name), { force: true });
    try {
      rmdirSync(lock);
    } catch {
      // The next process already has the lock.
    }
  };
  process.once('exit', release);
  return {
    /** Keeps the lock while this process runs, even if its parent crashes. */
    note: (pid) => noteProcess(join(lock, name), pid),
    release,
  };
}

function renameOnto(ticket, lock) {
  try {
    renameSync(ticket, lock);
    return true;
  } catch (error) {
    if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return false;
    throw error;
  }
}

function filesIn(folder) {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

function pidOf(name) {
  return Number(name.split('-')[0]);
}

function noteProcess(file, pid) {
  const start = startOf(pid);
  if (start !== undefined) appendFileSync(file, `${pid} ${start}\n`);
}

/** The lines of a file, or none if another process has removed it. */
function linesIn(file) {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Whether any of the listed processes is still running. A newer process that reuses an ID doesn't count. */
function isAtWork(file) {
  return linesIn(file).some((line) => {
    const [pid, ...start] = line.split(' ');
    return startOf(Number(pid)) === start.join(' ');
  });
}

/** When a process started, in the system's own format, or undefined if it has ended. */
function startOf(pid) {
  if (existsSync('/proc/self/stat')) {
    try {
      // The name in parentheses can contain anything. After it, field 0 is the state and field 19 the start time.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const [, state, start] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout ?? '') ?? [];
  return state?.startsWith('Z') ? undefined : start?.replace(/\s+/g, ' ');
}
