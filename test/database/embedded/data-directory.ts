import { execFile } from 'node:child_process';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import pino from 'pino';
import { afterAll, afterEach, beforeEach, expect, vi } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts';
import { livePostmaster } from '../../../src/database/embedded/process.ts';
import { isSupervised } from '../../../src/database/embedded/supervisor.ts';
import { type NodeProcess, startNode } from '../../support/node-process.ts';

const run = promisify(execFile);

/** The first output from a process started by `startUser`. */
export type Ready = { url: string; dataDir: string };

export type DataDirectory = {
  path: string;
  /** Adds a database, so that the first server doesn't have to create one. */
  fill(): Promise<void>;
  /** Starts or shares the server in this process. */
  start(options?: { settings?: Record<string, string>; log?: pino.Logger }): Promise<EmbeddedPostgres>;
  /** Starts or shares the server in a separate process. */
  startUser(options?: Parameters<typeof startNode>[2]): NodeProcess;
  /** The process ID of the running server, or NaN. */
  serverPid(): Promise<number>;
  /** Registers a cleanup to run after the test. Cleanups run in reverse order. */
  cleanUp(action: () => unknown): void;
};

/** Gives each test a data directory, and removes it after the test, once no server runs in it. */
export function useDataDirectory(): DataDirectory {
  const cleanUps: (() => unknown)[] = [];
  let filled: Promise<string> | undefined;
  const directory: DataDirectory = {
    path: '',
    async fill() {
      filled ??= createFilledDirectory();
      await run('cp', ['-a', join(await filled, 'postgres'), directory.path]);
    },
    async start({ settings = {}, log = pino({ level: 'silent' }) } = {}) {
      const server = await startEmbeddedPostgres({ dataDir: directory.path, log, settings });
      cleanUps.push(server.stop);
      return server;
    },
    startUser(options) {
      const user = startNode(resolve(import.meta.dirname, 'uses-postgres.ts'), [directory.path], options);
      cleanUps.push(() => user.end('SIGKILL'));
      return user;
    },
    async serverPid() {
      const server = await livePostmaster(clusterOf(await realpath(join(directory.path, 'postgres'))));
      return server?.pid ?? Number.NaN;
    },
    cleanUp(action) {
      cleanUps.push(action);
    },
  };

  beforeEach(async () => {
    directory.path = await newDirectory();
  });

  afterAll(async () => {
    if (filled) await rm(await filled, { recursive: true });
  });

  afterEach(async () => {
    for (const action of cleanUps.splice(0).reverse()) await action();
    const home = await realpath(join(directory.path, 'postgres')).catch(() => directory.path);
    await vi.waitFor(() => expect(isSupervised(home)).toBe(false), 60_000);
    await rm(home, { recursive: true });
    await rm(directory.path, { recursive: true, force: true });
  });

  return directory;
}

async function newDirectory(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'tollgate-lifecycle-')));
  await chmod(path, 0o711);
  return path;
}

/** Creates a data directory with a new database and a stopped server. */
async function createFilledDirectory(): Promise<string> {
  const dataDir = await newDirectory();
  const server = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }) });
  await server.stop();
  return dataDir;
}

/** Returns PostgreSQL's own data directory within a data directory. */
export function clusterOf(home: string): string {
  return join(home, 'database/cluster');
}

/** Runs one statement on a new connection. */
export async function query(url: string, sql: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
