import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { INHERITED } from './inherited.ts';
import { CLI, NODE } from './programs.ts';

/** What commands print only on a slow machine. See `src/cli/slow.ts`. */
const WAITING = /^(Waiting (for a response|up to)|Exporting \S+…|Checking…).*\n/gm;

export type CliResult = { code: number | null; stdout: string; stderr: string };

export type CliProcess = {
  /** Waits until the output on either stream matches. Rejects with the output if the command ends first. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>;
  /** The lines on standard output so far. */
  lines(): string[];
  signal(name: NodeJS.Signals): void;
  ended: Promise<CliResult>;
};

/**
 * Runs the command line in a separate process, without the settings in the tests' environment.
 *
 * @param input the standard input, empty by default
 */
export function startCli(args: string[], env: Record<string, string> = {}, input?: string): CliProcess {
  const { HOME = '' } = process.env;
  const child = spawn(NODE, [CLI, ...args], {
    env: { ...INHERITED, HOME, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
    for (const watch of [...watchers]) watch();
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
    for (const watch of [...watchers]) watch();
  });
  const ended = (once(child, 'close') as Promise<[number | null]>).then(([code]) => ({
    code,
    stdout,
    stderr: stderr.replaceAll(WAITING, ''),
  }));

  return {
    async waitFor(pattern) {
      const { promise, resolve: found } = Promise.withResolvers<RegExpMatchArray>();
      const watch = () => {
        const match = `${stdout}\n${stderr}`.match(pattern);
        if (match) found(match);
      };
      watchers.add(watch);
      watch();
      const early = ended.then((result) => {
        const match = `${result.stdout}\n${result.stderr}`.match(pattern);
        if (match) return match;
        throw new Error(`It ended with ${result.code} before ${pattern}:\n${result.stdout}\n${result.stderr}`);
      });
      try {
        return await Promise.race([promise, early]);
      } finally {
        watchers.delete(watch);
      }
    },
    lines: () => stdout.split('\n').filter(Boolean),
    signal: (name) => void child.kill(name),
    ended,
  };
}

/** Runs a command and waits until it ends. */
export function runCli(args: string[], env: Record<string, string> = {}, input?: string): Promise<CliResult> {
  return startCli(args, env, input).ended;
}
