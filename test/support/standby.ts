import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import pino from 'pino';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';

const run = promisify(execFile);

export type Standby = {
  /** Returns the URL of a database on this server. */
  urlOf(database: string): string;
  /** Shuts down the server until `start`, which reuses the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
};

/**
 * Starts a streaming standby of a running server. The embedded PostgreSQL doesn't include `pg_basebackup`, so this
 * copies the files itself: https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 */
export async function startStandby(primary: EmbeddedPostgres): Promise<Standby> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-standby-'));
  await chmod(dataDir, 0o711);
  const home = join(dataDir, 'postgres');
  const { uid, gid } = await stat(primary.dataDir);
  await mkdir(home, { mode: 0o700 });
  const maxConnections = await copyRunning(primary, join(home, 'database'));
  await chown(home, uid, gid);

  const { hostname, port: primaryPort, username, password } = new URL(primary.url);
  const settings = {
    primary_conninfo: `host=${hostname} port=${primaryPort} user=${username} password=${decodeURIComponent(password)}`,
    fsync: 'off',
    // A standby doesn't start with fewer than the primary has.
    max_connections: maxConnections,
  };
  const log = pino({ level: 'silent' });
  let server = await startEmbeddedPostgres({ dataDir, log, settings });
  const { port } = new URL(server.url);
  return {
    urlOf: (database) => Object.assign(new URL(primary.url), { port, pathname: `/${database}` }).href,
    stop: () => server.stop(),
    async start() {
      server = await startEmbeddedPostgres({ dataDir, log, settings, port: Number(port) });
    },
    async remove() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** @returns the primary's `max_connections`. */
async function copyRunning({ url, dataDir }: EmbeddedPostgres, target: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`SELECT pg_backup_start('standby', true)`);
  await run('cp', ['-a', join(dataDir, 'database'), target]);
  const { rows } = await client.query<{ labelfile: string; maxConnections: string }>(
    `SELECT labelfile, current_setting('max_connections') AS "maxConnections" FROM pg_backup_stop(false)`,
  );
  await client.end();
  const cluster = join(target, 'cluster');
  for (const name of ['postmaster.pid', 'postmaster.opts']) await rm(join(cluster, name), { force: true });
  const { uid, gid } = await stat(cluster);
  for (const [name, text] of Object.entries({ backup_label: rows[0]!.labelfile, 'standby.signal': '' })) {
    await writeFile(join(cluster, name), text);
    await chown(join(cluster, name), uid, gid);
  }
  return rows[0]!.maxConnections;
}
