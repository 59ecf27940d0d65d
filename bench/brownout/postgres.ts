import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withConnection } from '../../src/database/connection.ts';
import { unprivilegedAccount } from '../../src/database/embedded/account.ts';
import { providePostgresBinaries } from '../../src/database/embedded/binaries.ts';
import { runProgram } from '../failover/hosts.ts';
import { freePort } from '../support/free-port.ts';
import { createDisk } from './disk.ts';

const DISK_MEGABYTES = 400;
const RESTART_MILLISECONDS = 1_000;
const POLL_MILLISECONDS = 100;
/** Small files, so that a full disk is noticed soon. Everything else is as durable as by default. */
const SETTINGS = ['max_connections=100', 'max_wal_size=64MB', 'min_wal_size=32MB', 'wal_recycle=off'];

export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** Runs PostgreSQL on a disk of its own. It is started again whenever it ends, as systemd and Kubernetes do. */
export async function startPostgres(folder: string) {
  const disk = await createDisk(folder, 'database', DISK_MEGABYTES);
  const account = await unprivilegedAccount();
  const binaries = await providePostgresBinaries(
    account,
    async () => join(folder, 'binaries'),
    () => {},
  );
  const data = join(disk.path, 'data');
  await chmod(folder, 0o711);
  await mkdir(data, { mode: 0o700 });
  await chown(data, account.uid, account.gid);
  const initdb = ['-D', data, '-U', 'tollgate', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  execFileSync(join(binaries, 'bin/initdb'), initdb, { ...account, cwd: '/', env: { LC_ALL: 'C' }, stdio: 'ignore' });
  const port = await freePort();
  const url = `postgres://tollgate@127.0.0.1:${port}/postgres`;
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...SETTINGS];

  let server: ChildProcess;
  let isWanted = true;
  let starts = 0;
  async function run(): Promise<void> {
    while (isWanted) {
      const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
      server = runProgram(folder, 'postgres', { command: join(binaries, 'bin/postgres'), args, account });
      starts += 1;
      await once(server, 'exit');
      await sleep(RESTART_MILLISECONDS);
    }
  }
  let running = run();

  async function untilReady(): Promise<void> {
    const ask = () => withConnection(url, 'brownout', async () => true).catch(() => false);
    while (!(await ask())) await sleep(POLL_MILLISECONDS);
  }
  await untilReady();

  async function kill(): Promise<void> {
    isWanted = false;
    server.kill('SIGKILL');
    await running;
  }

  return {
    url,
    fillDisk: disk.fill,
    async clearDisk(): Promise<void> {
      disk.clear();
      await untilReady();
    },
    failDisk: disk.fail,
    /** How often it was started again. */
    restarts: () => starts - 1,
    /** Repairs the disk, and starts the server again. */
    async repairDisk(): Promise<void> {
      await kill();
      await disk.repair();
      isWanted = true;
      running = run();
      await untilReady();
    },
    async stop(): Promise<void> {
      await kill();
      await disk.remove();
    },
  };
}
