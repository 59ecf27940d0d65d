import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { type Child, startChild } from '../support/child.ts';
import type { EngineName } from './engine.ts';
import type { EngineMethods, Usage } from './engine-process.ts';
import type { ReceiverMethods } from './receiver.ts';

export type Receiver = Child<ReceiverMethods> & { port: number; url: string };
export type EngineChild = Child<EngineMethods>;

/** One engine with its own database. */
export type Bench = {
  /** A process that prepares, publishes, and counts, but doesn't deliver. */
  control: EngineChild;
  /** Starts another process of the engine. */
  worker(): Promise<EngineChild>;
  /** Opens a transaction that sees the database as it is now. Returns the function that ends it. */
  holdSnapshot(): Promise<() => Promise<void>>;
  /** The CPU time that PostgreSQL has used so far. */
  databaseCpuMicroseconds(): number;
};

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Settings for a server that has the machine to itself, with full durability. */
const POSTGRES_SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB' };

const MICROSECONDS_A_TICK = 10_000;

/** What all parts need: PostgreSQL, Redis if available, and processes that end with the stage. */
export async function openStage(options: { hasPeers: boolean; cpuProfile?: string }) {
  const postgres = await startThrowawayPostgres(POSTGRES_SETTINGS);
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  const [{ pid }] = (await admin.query(`SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1) AS pid`)).rows as [
    { pid: string },
  ];
  const redis = await startRedis();
  const env: Record<string, string> = options.cpuProfile ? { CPU_PROFILE: options.cpuProfile } : {};

  async function receiver(delayMilliseconds: number | 'never' = 0): Promise<Receiver> {
    const child = startChild<ReceiverMethods>(new URL('receiver.ts', import.meta.url));
    const port = await child.call('listen', delayMilliseconds);
    return { ...child, port, url: `http://127.0.0.1:${port}` };
  }

  async function holdSnapshot(databaseUrl: string): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    return () => client.end();
  }

  /** Runs `use` with a prepared engine, and cleans up after it. */
  async function withEngine<T>(
    name: EngineName,
    urls: readonly string[],
    use: (bench: Bench) => Promise<T>,
    otherUrls: readonly string[] = [],
  ): Promise<T> {
    const database = `bench_${randomBytes(6).toString('hex')}`;
    await admin.query(`CREATE DATABASE ${database}`);
    const databaseUrl = Object.assign(new URL(postgres.url), { pathname: `/${database}` }).href;
    const children: EngineChild[] = [];
    async function open(env: Record<string, string>): Promise<EngineChild> {
      const child = startChild<EngineMethods>(new URL('engine-process.ts', import.meta.url), env);
      children.push(child);
      await child.call('open', name, { databaseUrl, redisUrl: redis?.url, urls, otherUrls });
      return child;
    }
    try {
      const control = await open({});
      await control.call('prepare');
      return await use({
        control,
        worker: () => open(env),
        holdSnapshot: () => holdSnapshot(databaseUrl),
        databaseCpuMicroseconds: () => cpuMicrosecondsOf(pid),
      });
    } finally {
      await Promise.all(children.map((child) => child.call('stop').catch(() => {})));
      await Promise.all(children.map((child) => child.end()));
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    }
  }

  return {
    receiver,
    withEngine,
    /** Why an engine can't be measured here. Undefined if it can. */
    obstacleTo(name: EngineName): string | undefined {
      if (name !== 'tollgate' && !options.hasPeers) return 'not measured: it could not be installed';
      return name === 'bullmq' && !redis ? 'not measured: redis-server is not installed' : undefined;
    },
    async close(): Promise<void> {
      redis?.stop();
      await admin.end();
      await postgres.stop();
    },
  };
}

/** The CPU time, statements, and peak memory of several processes so far. */
export async function usageOf(children: readonly EngineChild[]): Promise<Usage> {
  const usages = await Promise.all(children.map((child) => child.call('usage')));
  const sum = (pick: (usage: Usage) => number) => usages.reduce((total, usage) => total + pick(usage), 0);
  return {
    cpuMicroseconds: sum(({ cpuMicroseconds }) => cpuMicroseconds),
    statements: sum(({ statements }) => statements),
    maxRssMegabytes: Math.max(...usages.map(({ maxRssMegabytes }) => maxRssMegabytes)),
  };
}

/** The CPU time of a process and its children, including those that have ended. 0 on systems without /proc. */
function cpuMicrosecondsOf(pid: string): number {
  if (!existsSync('/proc/self/stat')) return 0;
  const ticks = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(name))
    .filter((stat) => stat?.pid === pid || stat?.parent === pid)
    .reduce((sum, stat) => sum + stat!.ticks + (stat!.pid === pid ? stat!.endedTicks : 0), 0);
  return ticks * MICROSECONDS_A_TICK;
}

/** The fields after the name, which may have spaces: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function statOf(pid: string) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number) as [number, number, number, number];
    return { pid, parent: fields[1]!, ticks: utime + stime, endedTicks: cutime + cstime };
  } catch {
    return undefined;
  }
}

/** Polls until the condition holds. @throws Error that says what it waited for. */
export async function until(
  condition: () => Promise<boolean>,
  what: string,
  timeoutMilliseconds = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMilliseconds / 1000} s for ${what}.`);
    await sleep(10);
  }
}

/** A Redis server that writes nothing to disk. Undefined if `redis-server` isn't installed. */
async function startRedis(): Promise<{ url: string; stop(): void } | undefined> {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-redis-'));
  const settings = ['--port', String(port), '--save', '', '--appendonly', 'no', '--dir', directory];
  const server: ChildProcess = spawn('redis-server', settings, { stdio: 'ignore' });
  return {
    url: `redis://127.0.0.1:${port}`,
    stop() {
      server.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
