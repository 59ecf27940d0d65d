import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type Anvil = {
  /** `http://127.0.0.1:<port>`. */
  rpcUrl: string;
  port: number;
  /** Resolves when the process ends, for any reason. */
  ended: Promise<void>;
  stop(): Promise<void>;
};

/** The platforms that anvil's packages are named after. */
const PACKAGES: Partial<Record<string, string>> = {
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'win32-x64': '@foundry-rs/anvil-win32-amd64',
};
const START_MILLISECONDS = 15_000;

/**
 * The npm package with anvil for a platform (`process.platform`) and an architecture (`process.arch`), if there is one.
 */
export function anvilPackage(platform: string, architecture: string): string | undefined {
  return PACKAGES[`${platform}-${architecture}`];
}

/** Why the sandbox can't run, and what to do. */
export function explainNoAnvil(platform: string, architecture: string): string {
  const name = anvilPackage(platform, architecture);
  if (name)
    return `the sandbox is off because the package ${name} is not installed; payments go to the public test network`;
  return `the sandbox is off because there is no local chain for ${platform}-${architecture}; payments go to the public test network`;
}

/** The path to the anvil binary, if its package is installed for this platform. */
export function findAnvil(): string | undefined {
  const name = anvilPackage(process.platform, process.arch);
  if (!name) return undefined;
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const file = process.platform === 'win32' ? 'anvil.exe' : 'anvil';
  return folders.map((folder) => join(folder, name, 'bin', file)).find((path) => existsSync(path));
}

/**
 * Runs a local Ethereum chain (https://getfoundry.sh/anvil) on its own port. It mines a block every second to keep its
 * clock running, and a block per transaction so that nothing has to wait.
 *
 * @throws Error if it doesn't start.
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
 * Starts a program that ends with this process, no matter how this process ends. A shell waits for its input to end,
 * and the operating system closes the input when this process ends.
 */
function spawnBound(program: string, args: string[]): ChildProcess {
  // Detached from the terminal, because Ctrl-C would otherwise end it before the service has stopped.
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
    const timer = setTimeout(() => fail("didn't start in time"), START_MILLISECONDS);
    ended.then(() => fail('exited right after it started'));
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    child.stdout?.on('data', function read(chunk) {
      output += chunk;
      const match = /Listening on 127\.0\.0\.1:(\d+)/.exec(output);
      if (!match) return;
      clearTimeout(timer);
      // Discard further output, which is a line per block.
      child.stdout?.off('data', read).resume();
      child.stderr?.removeAllListeners('data').resume();
      resolve(Number(match[1]));
    });
  });
}
