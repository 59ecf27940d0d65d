import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Child, startChild } from '../support/child.ts';
import { freePort } from '../support/free-port.ts';
import { openPostgres } from '../support/postgres.ts';
import type { EngineName } from './engine.ts';
import type { EngineMethods, Usage } from './engine-process.ts';
import type { ReceiverMethods } from './receiver.ts';

export type Receiver = Child<ReceiverMethods> & { port: number; url: string };
export type EngineChild = Child<EngineMethods>;

/** One engine with its own database. */
export type Bench = {
  databaseUrl: string;
  /** A process that prepares, publishes, and counts, but doesn't deliver anything. */
  control: EngineChild;
  /** Starts another process of the engine. */
  worker(): Promise<EngineChild>;
  /** Opens a transaction that sees the database as it is now. Returns the function that ends it. */
  holdSnapshot(): Promise<() => Promise<void>>;
  /** The CPU time that PostgreSQL has used so far. */
  databaseCpuMicroseconds(): number;
};

export type Stage = Awaited<ReturnType<typeof openStage>>;

/**
 * The resources that all parts share: PostgreSQL, Redis if available, and processes that end with the stage.
 *
 * @param options `programs`: the folder of an installed PostgreSQL to use instead of the embedded one.
 */
export async function openStage(options: { hasPeers: boolean; cpuProfile?: string; programs?: string }) {
  const postgres = await openPostgres(options.programs);
  const redis = await startRedis();
  const env: Record<string, string> = options.cpuProfile ? { CPU_PROFILE: options.cpuProfile } : {};

  async function receiver(delayMilliseconds: number | 'never' = 0): Promise<Receiver> {
    const child = startChild<ReceiverMethods>(new URL('receiver.ts', import.meta.url));
    const port = await child.call('listen', delayMilliseconds);
    return { ...child, port, url: `http://127.0.0.1:${port}` };
  }

  async function holdSnapshot(databaseUrl: string): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on('error', () => {});
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
    const database = await postgres.createDatabase();
    const databaseUrl = database.url;
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
        databaseUrl,
        control,
        worker: () => open(env),
        holdSnapshot: () => holdSnapshot(databaseUrl),
        databaseCpuMicroseconds: postgres.cpuMicroseconds,
      });
    } finally {
      await Promise.all(children.map((child) => child.call('stop').catch(() => {})));
      await Promise.all(children.map((child) => child.end()));
      await database.drop();
    }
  }

  return {
    receiver,
    withEngine,
    /** The reason why an engine can't be measured here, or undefined if it can. */
    obstacleTo(name: EngineName): string | undefined {
      if (name !== 'tollgate' && !options.hasPeers) return 'not measured: it could not be installed';
      return name === 'bullmq' && !redis ? 'not measured: redis-server is not installed' : undefined;
    },
    async close(): Promise<void> {
      redis?.stop();
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
