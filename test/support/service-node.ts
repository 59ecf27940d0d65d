import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { INHERITED } from './inherited.ts';
import { pace } from './pace.ts';
import { MAIN, NODE } from './programs.ts';

const READY_MILLISECONDS = 120_000;

export type ServiceNode = Awaited<ReturnType<typeof startServiceNode>>;

type Role = 'api' | 'gateway' | 'worker';

/** Starts the service in a separate process, on a shared database. */
export async function startServiceNode(options: {
  /** A role, or several ones separated by commas. */
  role: Role | `${Role},${string}`;
  databaseUrl: string;
  dataDir: string;
  /** The program. By default, it is the one that `npm start` runs. */
  program?: string;
  /** The offset of its wall clock. */
  clockShiftSeconds?: number;
  /** The file that gets the URL of every loaded module, one per line. */
  loadedModulesFile?: string;
  /** The maximum size of its heap. */
  maxHeapMegabytes?: number;
  env?: Record<string, string>;
}) {
  const { role, databaseUrl, dataDir, clockShiftSeconds = 0, loadedModulesFile = '', maxHeapMegabytes, env } = options;
  const { program = MAIN } = options;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess;
  let output = '';

  async function start(): Promise<void> {
    output = '';
    const imports = ['shifted-clock.ts', ...(loadedModulesFile ? ['loaded-modules.ts'] : [])];
    const preloaded = imports.flatMap((file) => ['--import', join(import.meta.dirname, file)]);
    const flags = maxHeapMegabytes ? [`--max-old-space-size=${maxHeapMegabytes}`] : [];
    child = spawn(NODE, [...flags, ...preloaded, program], {
      env: {
        ...INHERITED,
        NODE_ENV: 'test',
        SANDBOX: 'off',
        LOG_LEVEL: 'warn',
        DATABASE_POOL_SIZE: '5',
        ROLES: role,
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        DATA_DIR: dataDir,
        EGRESS_ALLOW: '127.0.0.1/32:*',
        CLOCK_SHIFT_SECONDS: String(clockShiftSeconds),
        LOADED_MODULES_FILE: loadedModulesFile,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += chunk));
    const deadline = performance.now() + READY_MILLISECONDS;
    while (!(await isReady())) {
      if (child.exitCode !== null || performance.now() > deadline) throw new Error(`The ${role} node: ${output}`);
      await pace(20);
    }
  }

  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );

  /** Ends the process the way an orchestrator does. Returns its exit code, or null if it was killed. */
  async function end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exit = once(child, 'exit');
    child.kill(signal);
    return (await exit)[0];
  }

  await start();
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  /** What the process has printed since its start. */
  const printed = () => output;
  const pid = () => child.pid!;
  return { role, url, start, end, isRunning, printed, pid };
}
