import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const MICROSECONDS_A_TICK = 10_000;

/**
 * Reserves the first core for the process under test. This process, and all processes that it starts without `onCore`,
 * use only the other cores.
 *
 * @returns the first core, or undefined if there is only one or `taskset` isn't installed.
 */
export function reserveCore(): number | undefined {
  const last = cpus().length - 1;
  if (last === 0) return undefined;
  const pinning = ['--all-tasks', '--pid', '--cpu-list', `1-${last}`, String(process.pid)];
  return spawnSync('taskset', pinning).status === 0 ? 0 : undefined;
}

/**
 * A program and its arguments, changed so that the program runs only on this core. Without a core, nothing is changed.
 */
export function onCore(core: number | undefined, program: string, args: readonly string[]): [string, string[]] {
  return core === undefined ? [program, [...args]] : ['taskset', ['--cpu-list', String(core), program, ...args]];
}

/** The CPU time of a process and its children, including children that have ended. 0 on systems without /proc. */
export function cpuMicrosecondsOf(pid: string): number {
  if (!existsSync('/proc/self/stat')) return 0;
  const ticks = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(name))
    .filter((stat) => stat?.pid === pid || stat?.parent === pid)
    .reduce((sum, stat) => sum + stat!.ticks + (stat!.pid === pid ? stat!.endedTicks : 0), 0);
  return ticks * MICROSECONDS_A_TICK;
}

/** The fields after the name, which may have spaces: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function statOf(pid: string) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number) as [number, number, number, number];
    return { pid, parent: fields[1]!, ticks: utime + stime, endedTicks: cutime + cstime };
  } catch {
    return undefined;
  }
}
