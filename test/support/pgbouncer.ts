import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRoot, unprivilegedAccount } from '../../src/database/embedded/account.ts';
import { defaultsFor } from '../../src/database/pooler.ts';
import { codeBlocks, readPage, section } from '../docs/pages.ts';
import { runOnServer } from './database.ts';
import { freePort } from './free-port.ts';
import { pace } from './pace.ts';

export type PgBouncer = {
  /** The URL of the database through the pooler. */
  url: string;
  /** Cuts all connections. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

export const isPgBouncerInstalled = spawnSync('pgbouncer', ['--version']).status === 0;

/**
 * Starts PgBouncer in front of a database, in transaction mode, as configured in docs/deployment.md, but with only four
 * connections, so that sessions change hands all the time.
 *
 * @param options `ofServer` puts it in front of all databases on the server.
 */
export async function startPgBouncer(databaseUrl: string, { ofServer = false } = {}): Promise<PgBouncer> {
  const { hostname, port: databasePort, pathname, username, password } = new URL(databaseUrl);
  const database = pathname.slice(1);
  const target = `host=${hostname} port=${databasePort}`;
  // PgBouncer refuses to run as root.
  const account = isRoot() ? await unprivilegedAccount() : undefined;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-pgbouncer-'));
  const port = await freePort();
  const [documented] = codeBlocks(section(await readPage('docs/deployment.md'), '## PgBouncer'), 'ini');
  const configuration = documented!
    .replace(/^tollgate = .*/m, ofServer ? `* = ${target}` : `${database} = ${target} dbname=${database}`)
    // Servers that only tests use may have no passwords.
    .replace('scram-sha-256', password ? 'scram-sha-256' : 'trust')
    .replace('listen_addr = 0.0.0.0', 'listen_addr = 127.0.0.1\nunix_socket_dir =')
    .replace('6432', String(port))
    .replace('/etc/pgbouncer', folder)
    .replace('default_pool_size = 40', 'default_pool_size = 4');
  await writeFile(join(folder, 'pgbouncer.ini'), configuration);
  await writeFile(join(folder, 'userlist.txt'), `"${username}" "${decodeURIComponent(password)}"\n`, { mode: 0o600 });
  if (account) {
    await chmod(folder, 0o755);
    await chown(join(folder, 'userlist.txt'), account.uid, account.gid);
  }
  let bouncer: ChildProcess = await start();
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    async restart() {
      await end();
      bouncer = await start();
    },
    async stop() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };

  async function start(): Promise<ChildProcess> {
    const started = spawn('pgbouncer', ['pgbouncer.ini'], {
      ...account,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    started.stderr!.on('data', (text) => {
      log += text;
    });
    while (!(await isUp())) {
      if (started.exitCode !== null) throw new Error(`PgBouncer: ${log}`);
      await pace(20);
    }
    return started;
  }

  async function end(): Promise<void> {
    if (bouncer.exitCode !== null || bouncer.signalCode !== null) return;
    bouncer.kill('SIGTERM');
    await once(bouncer, 'exit');
  }

  function isUp(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(() => resolve(true)));
      socket.on('error', () => resolve(false));
    });
  }
}

/** Gives new sessions of a database the settings that the service needs behind a pooler. */
export async function setSessionDefaults(databaseUrl: string): Promise<void> {
  const { pathname, username } = new URL(databaseUrl);
  await runOnServer(databaseUrl, defaultsFor(username, pathname.slice(1)).join('\n'));
}
