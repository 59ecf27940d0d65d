// One setup at a time in a folder. Plain JavaScript that uses nothing but Node, as `setup.mjs`.
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
 * Waits until no other process holds the lock, and takes it. It is a folder with one file, named after its holder, that
 * lists the processes at work. A folder can be renamed onto another one only while that one is empty: so of several
 * that want the lock one gets it, and whoever removes the file of a crashed holder removes nobody else's.
 *
 * @param onWait told the process that is waited for, once.
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
      // The next one has it already.
    }
  };
  process.once('exit', release);
  return {
    /** The lock stays taken while this process lives, also when its parent has crashed. */
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

/** Whether any of the processes listed in the file still runs, and is not a later one with the same number. */
function isAtWork(file) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return lines.some((line) => {
    const [pid, ...start] = line.split(' ');
    return startOf(Number(pid)) === start.join(' ');
  });
}

/** When a process was started, in whatever form the system tells it; undefined when it has ended. */
function startOf(pid) {
  if (existsSync('/proc/self/stat')) {
    try {
      // The name, in parentheses, may contain anything; behind it come the state and, as the 20th field, the start.
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
