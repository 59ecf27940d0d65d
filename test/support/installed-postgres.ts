import { execFile, spawnSync } from 'node:child_process';
import { access, chmod, chown, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isRoot, unprivilegedAccount } from '../../src/database/embedded/account.ts';
import { freePort } from './free-port.ts';

const run = promisify(execFile);
const LIBRARY = '/usr/lib/postgresql';

type Settings = Readonly<Record<string, string>>;

/** A server that runs the system's PostgreSQL, with an empty database. */
export type InstalledServer = {
  url: string;
  /** Makes a base backup of this server. */
  backUp(): Promise<BaseBackup>;
  stop(): Promise<void>;
};

/**
 * Returns the directory that contains the server, `pg_dump`, and `pg_restore` from Debian's `postgresql` package,
 * version 15 or later, or undefined if the package is not installed. The embedded PostgreSQL includes only the server.
 */
export async function findInstalledPostgres(): Promise<string | undefined> {
  const versions = await readdir(LIBRARY).catch(() => []);
  const newest = Math.max(...versions.map(Number).filter((version) => version >= 15));
  const programs = join(LIBRARY, String(newest), 'bin');
  const isThere = (name: string) =>
    access(join(programs, name)).then(
      () => true,
      () => false,
    );
  const found = await Promise.all(['initdb', 'pg_ctl', 'pg_dump', 'pg_restore'].map(isThere));
  return found.every(Boolean) ? programs : undefined;
}

type BaseBackup = {
  /** Starts a server on the backup, which recovers as the signal and the settings say. */
  start(signal: 'recovery.signal' | 'standby.signal', settings: Settings): Promise<InstalledServer>;
};

/** Starts a new, empty server on loopback. */
export async function startInstalledPostgres(
  programs: string,
  settings: Settings = { fsync: 'off' },
): Promise<InstalledServer> {
  const { folder, data, options } = await makeFolder();
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'tollgate', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  );
  return startIn({ programs, folder, data, options, settings });
}

/** Makes a folder for a server, owned by the account that it runs as. */
async function makeFolder() {
  const account = isRoot() ? await unprivilegedAccount() : undefined;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-postgres-'));
  await chmod(folder, 0o700);
  if (account) await chown(folder, account.uid, account.gid);
  const data = join(folder, 'data');
  const options = { ...account, cwd: folder };
  return { folder, data, options };
}

async function startIn({
  programs,
  folder,
  data,
  options,
  settings,
}: Awaited<ReturnType<typeof makeFolder>> & { programs: string; settings: Settings }): Promise<InstalledServer> {
  const port = await freePort();
  const all = { ...settings, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const flags = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
  // Pipes would stay open as long as the server runs.
  const { status } = spawnSync(
    join(programs, 'pg_ctl'),
    ['start', '-w', '-D', data, '-l', join(folder, 'log'), '-o', flags.join(' ')],
    { ...options, stdio: 'ignore' },
  );
  if (status !== 0) throw new Error(`PostgreSQL of ${programs} does not start`);
  const url = `postgres://tollgate@127.0.0.1:${port}/postgres`;
  return {
    url,
    async backUp() {
      const made = await makeFolder();
      await run(join(programs, 'pg_basebackup'), ['-d', url, '-D', made.data, '-c', 'fast', '--no-sync'], made.options);
      return {
        async start(signal, others) {
          await writeFile(join(made.data, signal), '');
          return startIn({ programs, ...made, settings: { ...settings, ...others } });
        },
      };
    },
    async stop() {
      await run(join(programs, 'pg_ctl'), ['stop', '-m', 'fast', '-D', data], options);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
