import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN } from '../../test/support/programs.ts';
import { freePort } from './free-port.ts';

export const ROLES = ['api', 'gateway', 'worker'] as const;
export type Role = (typeof ROLES)[number];

const running = new Set<ChildProcess>();
// No child process outlives this process, even if it fails.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export type ServiceProcess = Awaited<ReturnType<typeof startServiceProcess>>;

/**
 * Starts one of the service's processes, and waits until it is ready.
 *
 * @param options.folder its data directory, which also contains its log, under `name`.
 * @param options.logFolder contains its log instead. The process writes there on its own.
 * @param options.program by default, this version
 * @throws Error with its log if it ends before it is ready
 */
export async function startServiceProcess(options: {
  role: Role;
  name: string;
  folder: string;
  logFolder?: string;
  env: Record<string, string>;
  program?: string;
}) {
  const { role, name, folder, logFolder, env, program = MAIN } = options;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = join(logFolder ?? folder, `${name}.log`);
  const logFd = logFolder === undefined ? undefined : openSync(log, 'a');
  const child = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      DATA_DIR: folder,
      NODE_ENV: 'test',
      SANDBOX: 'off',
      LOG_LEVEL: 'warn',
      EGRESS_ALLOW: '127.0.0.1/32:*',
      ROLES: role,
      PORT: String(port),
      TRUSTED_PROXIES: '127.0.0.1',
      ...env,
    },
    stdio: ['ignore', logFd ?? 'pipe', logFd ?? 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  if (logFd === undefined) {
    const file = createWriteStream(log);
    for (const stream of [child.stdout!, child.stderr!]) stream.pipe(file, { end: false });
  } else closeSync(logFd);
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (!running.has(child)) throw new Error(`${name}: ${readFileSync(log, 'utf8')}`);
    await sleep(50);
  }
  return {
    role,
    name,
    url,
    pid: child.pid!,
    log,
    isRunning: () => running.has(child),
    /** @throws Error if it doesn't exit cleanly, or has already ended */
    async stop(): Promise<void> {
      if (!running.has(child)) throw new Error(`${name} has ended. Its log is ${log}.`);
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      const [code, signal] = await exit;
      if (code !== 0) throw new Error(`${name} ended with ${code ?? signal}. Its log is ${log}.`);
    },
  };
}
