import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Account } from '../../src/database/embedded/account.ts';

/** This machine's address on the hosts' network. */
export const ADDRESS = '10.203.77.1';
const BRIDGE = 'hosts';

export type Program = { command: string; args: string[]; env?: Record<string, string>; account?: Account };

/** A network namespace with its own address, like a separate machine. */
export type Host = {
  name: string;
  address: string;
  run(program: Program): ChildProcess;
  /** Kills everything that runs on the host. */
  crash(): Promise<void>;
  /** Unplugs the host's network cable, or plugs it back in. */
  cut(): void;
  connect(): void;
};

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'inherit'] }).toString();

/**
 * Starts a program and writes its output to a file. If `account` is set, the program runs under that account.
 *
 * @param folder the folder for the file.
 */
export function runProgram(folder: string, name: string, program: Program): ChildProcess {
  const [command, ...args] = commandLine(program);
  const child = spawn(command!, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...program.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
  for (const stream of [child.stdout!, child.stderr!]) stream.pipe(log, { end: false });
  return child;
}

function commandLine({ command, args, account }: Program): string[] {
  const as = account ? ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'] : [];
  return [...as, command, ...args];
}

/**
 * Creates a bridge and hosts that are connected to it. They are removed along with this process's network namespace.
 */
export function createHosts(folder: string, names: string[]): Host[] {
  // Each network namespace has a file with its name in this folder. Without this mount, those files would stay on the
  // machine.
  execFileSync('sh', ['-c', 'mkdir -p /run/netns && mount -t tmpfs netns /run/netns']);
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', BRIDGE, 'type', 'bridge');
  ip('address', 'add', `${ADDRESS}/24`, 'dev', BRIDGE);
  ip('link', 'set', BRIDGE, 'up');
  return names.map((name, index) => createHost(folder, name, `10.203.77.${11 + index}`));
}

function createHost(folder: string, name: string, address: string): Host {
  const cable = `to-${name}`;
  ip('netns', 'add', name);
  ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('link', 'set', cable, 'master', BRIDGE, 'up');
  const inside = (...args: string[]) => ip('-n', name, ...args);
  inside('link', 'set', 'lo', 'up');
  inside('address', 'add', `${address}/24`, 'dev', 'eth0');
  inside('link', 'set', 'eth0', 'up');
  const running = new Set<ChildProcess>();
  return {
    name,
    address,
    run(program) {
      const args = ['netns', 'exec', name, ...commandLine(program)];
      const child = runProgram(folder, name, { command: 'ip', args, env: program.env });
      running.add(child);
      child.once('exit', () => running.delete(child));
      return child;
    },
    async crash() {
      const exits = [...running].map((child) => once(child, 'exit'));
      const pids = () => ip('netns', 'pids', name).split('\n').filter(Boolean);
      for (let left = pids(); left.length > 0; left = pids()) {
        for (const pid of left) execFileSync('sh', ['-c', `kill -KILL ${pid} 2>/dev/null || true`]);
      }
      await Promise.all(exits);
    },
    cut: () => ip('link', 'set', cable, 'down'),
    connect: () => ip('link', 'set', cable, 'up'),
  };
}
