import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CLI, NODE } from '../support/programs.ts';
import { ROOT } from './pages.ts';

export type Shell = ReturnType<typeof startShell>;

/**
 * A command that fails ends the shell, and so does an error status, except from a paid route. `npx tollgate` runs the
 * source, and npm runs in the clone. Programs that ask for confirmation read `y`.
 */
const PRELUDE = `
set -eo pipefail
# Both streams in the order in which they were written.
exec 2>&1
curl() {
  case "$*" in
    */gateway/* | *--fail*) command curl "$@" ;;
    *) command curl --fail-with-body "$@" ;;
  esac
}
npm() { (cd "$CLONE" && command npm "$@"); }
npx() { shift && "$NODE" "$CLI" "$@" <<< y; }
`;

/**
 * A bash session into which a page's blocks are typed one after another.
 *
 * @param env additional variables, including the examples' own, such as `TOLLGATE`
 */
export function startShell(cwd: string, env: Record<string, string>) {
  const shell = spawn('bash', {
    cwd,
    env: { ...process.env, CLONE: ROOT, NODE, CLI, npm_config_cache: join(cwd, '.npm'), ...env },
    // Its jobs are in its process group.
    detached: true,
  });
  const ended = once(shell, 'exit');
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  shell.stdin.write(PRELUDE);

  /** Waits until the output from the position `start` on matches. Fails immediately if the shell has ended. */
  async function shows(text: string | RegExp, start = 0): Promise<void> {
    await expect
      .poll(() => (shell.exitCode === null ? output.slice(start) : `${output.slice(start)}\nThe shell has ended.`))
      .toMatch(typeof text === 'string' ? new RegExp(`${text}|The shell has ended`) : text);
    if (shell.exitCode !== null) throw new Error(`A command failed:\n${output.slice(start)}`);
  }

  return {
    shows,

    /** All of the shell's output so far. */
    output: () => output,

    /** Types a block and returns its output once it is done. @throws Error if a command fails */
    async type(block: string): Promise<string> {
      const start = output.length;
      const done = `done-${start}-`;
      shell.stdin.write(`${block}\necho ${done}\n`);
      await shows(done, start);
      return output.slice(start);
    },

    /** Ends the shell and its background jobs. */
    async close(): Promise<void> {
      if (shell.exitCode === null) shell.stdin.end('exit\n');
      await ended;
      // Without a terminal, bash has no job control, so `kill %1` doesn't reach the processes that npm has started.
      try {
        process.kill(-shell.pid!, 'SIGTERM');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    },
  };
}
