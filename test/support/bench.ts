import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { NODE } from './programs.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Runs a program from `bench/` to its end.
 *
 * @param program its path in `bench/`
 * @param signal the test's signal: if the test times out, the program doesn't outlive it
 */
export async function runBench(
  program: string,
  args: string[],
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(NODE, [resolve(ROOT, 'bench', program), ...args], {
    signal,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
