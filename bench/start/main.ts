/**
 * Measures how long a process with one role takes to become ready, and how much memory it uses once it's idle: from
 * source, as `npm start` runs it, and built, as production runs it.
 *
 *   npm run bench:start                      all roles, in about two minutes
 *   npm run bench:start -- --only worker     one role
 *   npm run bench:start -- --profile DIR     with a CPU profile of each process
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { freePort } from '../support/free-port.ts';
import { cpuMicrosecondsOf } from '../support/processes.ts';
import { median } from '../support/statistics.ts';
import { milliseconds, print, ratio } from '../support/table.ts';

type Start = { readyMilliseconds: number; cpuMilliseconds: number; memoryMegabytes: number };

const ROOT = resolve(import.meta.dirname, '../..');
const PROGRAMS = { source: 'src/main.ts', built: 'dist/server/main.mjs' };
type Program = keyof typeof PROGRAMS;
const ROLES = ['api', 'gateway', 'worker'];
const ROUNDS = 5;
/** By then, a process has finished its one-time startup work. */
const IDLE_MILLISECONDS = 3_000;
const POLL_MILLISECONDS = 2;

const { values } = parseArgs({ options: { only: { type: 'string' }, profile: { type: 'string' } } });
const roles = ROLES.filter((role) => values.only === undefined || values.only === role);
const postgres = await startThrowawayPostgres();
const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
await chmod(dataDir, 0o711);

try {
  // The first process creates the tables.
  await start('source', 'api');
  const contestants = roles.flatMap((role) =>
    (['source', 'built'] as const).map((program) => ({ role, program, starts: [] as Start[] })),
  );
  const bare: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    bare.push(await startNodeAlone());
    for (const { role, program, starts } of contestants) starts.push(await start(program, role));
  }
  const alone = median(bare, (time) => time);
  const rows = contestants.map(({ role, program, starts }) => {
    const ready = median(starts, ({ readyMilliseconds }) => readyMilliseconds);
    return [
      ...[`${role}, ${program}`, milliseconds(ready), ratio(ready / alone)],
      milliseconds(median(starts, ({ cpuMilliseconds }) => cpuMilliseconds)),
      `${median(starts, ({ memoryMegabytes }) => memoryMegabytes).toFixed(0)} MB`,
    ];
  });
  console.log(print({ columns: ['', 'ready', '÷ node alone', 'CPU until then', 'idle memory'], rows }));
  console.log(`\n\`node -e 0\` takes ${milliseconds(alone)}.`);
} finally {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** How long Node itself takes to start and exit. */
async function startNodeAlone(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ['-e', '0']), 'exit');
  return performance.now() - startedAt;
}

async function start(program: Program, role: string): Promise<Start> {
  const port = String(await freePort());
  const name = `--cpu-prof-name=${role}-${program}.cpuprofile`;
  const flags = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`, name] : [];
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...flags, join(ROOT, PROGRAMS[program])], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'test',
      SANDBOX: 'off',
      ROLES: role,
      PORT: port,
      DATABASE_URL: postgres.url,
      DATA_DIR: dataDir,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await waitUntilReady(child, `http://127.0.0.1:${port}/readyz`);
  const readyMilliseconds = performance.now() - startedAt;
  const cpuMilliseconds = cpuMicrosecondsOf(String(child.pid)) / 1000;
  await sleep(IDLE_MILLISECONDS);
  const memoryMegabytes = residentMegabytes(child.pid!);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { readyMilliseconds, cpuMilliseconds, memoryMegabytes };
}

/**
 * Polls `url`, because the log is buffered and can't tell when the process is ready.
 *
 * @throws Error if the process ends instead.
 */
async function waitUntilReady(child: ChildProcess, url: string): Promise<void> {
  child.stdout!.resume();
  while (child.exitCode === null) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(POLL_MILLISECONDS);
  }
  throw new Error('The process has ended.');
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) / 1024;
}
