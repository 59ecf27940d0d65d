import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type Anvil = {
  /** `http://127.0.0.1:<port>`. */
  rpcUrl: string;
  port: number;
  /** Resolves when the process has ended, wanted or not. */
  ended: Promise<void>;
  stop(): Promise<void>;
};

const ARCHITECTURES: Partial<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const START_MILLISECONDS = 15_000;

/** The chain's program, if the package that holds it is installed for this platform. */
export function findAnvil(): string | undefined {
  const name = `@foundry-rs/anvil-${process.platform}-${ARCHITECTURES[process.arch]}`;
  const require = createRequire(import.meta.url);
  const folders = require.resolve.paths(name) ?? [];
  const file = process.platform === 'win32' ? 'anvil.exe' : 'anvil';
  return folders.map((folder) => join(folder, name, 'bin', file)).find((path) => existsSync(path));
}

/**
 * Runs a local Ethereum chain (https://getfoundry.sh/anvil) on a port of its own. Blocks come every second, so that its
 * clock goes on, and with every transaction, so that nobody waits.
 *
 * @throws Error when it does not come up.
 */
export async function startAnvil(options: { binary: string; chainId: number; port?: number }): Promise<Anvil> {
  const { binary, chainId, port = 0 } = options;
  const child = spawnBound(binary, [
    ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId)],
    ...['--block-time', '1', '--mixed-mining', '--accounts', '1'],
  ]);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const listening = await untilListening(child, ended).catch((error) => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    rpcUrl: `http://127.0.0.1:${listening}`,
    port: listening,
    ended,
    async stop() {
      child.stdin?.end();
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * Starts a program that ends with this process, however this process ends: a shell waits for the end of its input, which
 * the operating system brings about.
 */
function spawnBound(program: string, args: string[]): ChildProcess {
  // Apart from the terminal, whose interrupt would end it before the service has stopped.
  const options: SpawnOptions = { stdio: ['pipe', 'pipe', 'pipe'], cwd: dirname(program), detached: true };
  if (process.platform === 'win32') return spawn(program, args, { ...options, detached: false });
  const script = `exec 3<&0
"$0" "$@" 3<&- & child=$!
trap 'kill $child' TERM INT
(cat <&3 >/dev/null; kill $child) 2>/dev/null & guard=$!
while kill -0 $child 2>/dev/null; do wait $child; done
kill $guard 2>/dev/null`;
  return spawn('/bin/sh', ['-c', script, program, ...args], options);
}

function untilListening(child: ChildProcess, ended: Promise<void>): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (reason: string) => reject(new Error(`The local chain ${reason}.\n${output.trim()}`));
    const timer = setTimeout(() => fail('did not come up in time'), START_MILLISECONDS);
    ended.then(() => fail('ended at once'));
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    child.stdout?.on('data', function read(chunk) {
      output += chunk;
      const match = /Listening on 127\.0\.0\.1:(\d+)/.exec(output);
      if (!match) return;
      clearTimeout(timer);
      // What it prints from here on, a line a block, is read and forgotten.
      child.stdout?.off('data', read).resume();
      child.stderr?.removeAllListeners('data').resume();
      resolve(Number(match[1]));
    });
  });
}
