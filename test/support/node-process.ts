import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { NODE } from './programs.ts';

export type NodeProcess = {
  pid: number;
  /** Returns the next line it prints, parsed as JSON. Rejects with its error output if it ends instead. */
  nextMessage<T>(): Promise<T>;
  /** Sends the signal and waits until the process has exited. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Waits until the process ends on its own. Returns its exit code. */
  ended(): Promise<number | null>;
};

/** Runs a TypeScript file in a separate process, under another account if one is given. */
export function startNode(
  file: string,
  args: string[],
  options: { uid?: number; gid?: number; detached?: boolean } = {},
): NodeProcess {
  const child: ChildProcess = spawn(NODE, [file, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit') as Promise<[number | null]>;
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr!.on('data', (chunk) => {
    errors += chunk;
  });
  return {
    pid: child.pid!,
    async nextMessage<T>() {
      const { done, value } = await lines.next();
      if (done) {
        await exit;
        throw new Error(errors);
      }
      return JSON.parse(value) as T;
    },
    async end(signal) {
      child.kill(signal);
      await exit;
    },
    async ended() {
      return (await exit)[0];
    },
  };
}
