import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { installClients } from './installed.ts';

const run = promisify(execFile);

/**
 * Runs an ECMAScript module in its own process, where it can import the installed clients.
 *
 * @param source gets `input` as a constant
 * @returns what the program prints, which must be JSON
 */
export async function runProgram<T>(source: string, input: Readonly<Record<string, unknown>>): Promise<T> {
  const cwd = await installClients();
  const program = `const input = JSON.parse(process.env.INPUT);\n${source}`;
  const env = { ...process.env, INPUT: JSON.stringify(input) };
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd, env });
  return JSON.parse(stdout) as T;
}
