/**
 * Measures how long a process with one role takes to become ready, and how much memory it then has with nothing to do.
 *
 *   npm run bench:start                      each role, five times
 *   npm run bench:start -- --only worker     one role
 *   npm run bench:start -- --profile DIR     with a CPU profile of each start
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { freePort } from '../support/free-port.ts';
import { median } from '../support/statistics.ts';
import { print } from '../support/table.ts';

type Start = { readyMilliseconds: number; memoryMegabytes: number };

const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
const ROLES = ['api', 'gateway', 'worker'];
const ROUNDS = 5;
/** Caches fill and garbage is collected in this time. */
const IDLE_MILLISECONDS = 3_000;

const { values } = parseArgs({ options: { only: { type: 'string' }, profile: { type: 'string' } } });
const roles = ROLES.filter((role) => values.only === undefined || values.only === role);
const postgres = await startThrowawayPostgres();
const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
await chmod(dataDir, 0o711);

try {
  // Creates the tables.
  await start('api');
  const nothing: number[] = [];
  const starts = new Map(roles.map((role) => [role, [] as Start[]]));
  for (let round = 1; round <= ROUNDS; round++) {
    nothing.push(await runNothing());
    for (const [role, results] of starts) results.push(await start(role));
  }
  const bare = median(nothing, (milliseconds) => milliseconds);
  const rows = [...starts].map(([role, results]) => {
    const ready = median(results, ({ readyMilliseconds }) => readyMilliseconds);
    const memory = median(results, ({ memoryMegabytes }) => memoryMegabytes);
    return [role, `${ready.toFixed(0)} ms`, (ready / bare).toFixed(1), `${memory.toFixed(0)} MB`];
  });
  console.log(print({ columns: ['role', 'ready', '÷ node -e 0', 'idle memory'], rows }));
  console.log(`\nnode -e 0: ${bare.toFixed(0)} ms`);
} finally {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** How long Node itself takes to start and exit. */
async function runNothing(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ['-e', '0']), 'exit');
  return performance.now() - startedAt;
}

async function start(role: string): Promise<Start> {
  const port = String(await freePort());
  const flags = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`, `--cpu-prof-name=${role}.cpuprofile`] : [];
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...flags, MAIN], {
    env: {
      ...{ PATH: process.env.PATH, ...(process.env.NODE_COMPILE_CACHE ? {NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE}:{}), NODE_ENV: 'test', SANDBOX: 'off', ROLES: role, PORT: port },
      ...{ DATABASE_URL: postgres.url, DATA_DIR: dataDir },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await listening(child);
  const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`);
  const readyMilliseconds = performance.now() - startedAt;
  if (!ok) throw new Error(`The ${role} isn't ready.`);
  await sleep(IDLE_MILLISECONDS);
  const memoryMegabytes = residentMegabytes(child.pid!);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { readyMilliseconds, memoryMegabytes };
}

/** Resolves when the process logs that it is listening. */
async function listening({ stdout }: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: stdout! })) if (line.includes('"msg":"listening"')) break;
  stdout!.resume();
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) / 1024;
}
