import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import pino from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { canEnter, isRoot, unprivilegedAccount } from '../../../src/database/embedded/account.ts';
import { isAlive } from '../../../src/database/embedded/process.ts';
import { isSupervised } from '../../../src/database/embedded/supervisor.ts';
import { query, type Ready, useDataDirectory } from './data-directory.ts';

const REPOSITORY = resolve(import.meta.dirname, '../../..');
const data = useDataDirectory();

describe('a server', () => {
  test('keeps its data, port, and password across a clean stop, and leaves nothing running', async () => {
    await data.fill();
    const first = await data.start();
    await query(first.url, 'CREATE TABLE note AS SELECT 7 AS number');
    const pid = await data.serverPid();
    await first.stop();
    expect(isAlive(pid)).toBe(false);
    expect(isSupervised(first.dataDir)).toBe(false);
    expect(await readFile(join(first.dataDir, 'postgres.log'), 'utf8')).not.toContain('was not properly shut down');

    const second = await data.start();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
  });

  test('uses fsync, page checksums, and UTF-8, and listens only on the loopback interface', async () => {
    const { url, dataDir: home } = await data.start();
    const [settings] = await query(
      url,
      `SELECT current_setting('fsync') AS fsync, current_setting('data_checksums') AS checksums,
              current_setting('server_encoding') AS encoding, current_setting('listen_addresses') AS addresses,
              current_setting('unix_socket_directories') AS sockets, current_setting('max_connections') AS connections,
              datcollate AS collation FROM pg_database WHERE datname = current_database()`,
    );
    expect(settings).toEqual({
      fsync: 'on',
      checksums: 'on',
      encoding: 'UTF8',
      addresses: '127.0.0.1',
      sockets: '',
      connections: '200',
      collation: 'C',
    });
    expect((await stat(join(home, 'database/password'))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    const wrongPassword = new URL(url);
    wrongPassword.password = 'guess';
    await expect(query(wrongPassword.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
  });

  test('does not see the environment of the process that starts it', async () => {
    await data.fill();
    vi.stubEnv('SECRET_KEYS', 'do-not-pass-on');
    vi.stubEnv('PGPORT', '1');
    await data.start();
    vi.unstubAllEnvs();
    if (process.platform !== 'linux') return;
    const environment = await readFile(`/proc/${await data.serverPid()}/environ`, 'utf8');
    const names = environment.split('\0').map((variable) => variable.split('=')[0]);
    expect(names).toContain('PATH');
    expect(names).not.toContain('SECRET_KEYS');
    expect(names).not.toContain('PGPORT');
  });

  test('moves to another port if its own is taken', async () => {
    await data.fill();
    const first = await data.start();
    await query(first.url, 'CREATE TABLE note AS SELECT 7 AS number');
    await first.stop();
    const port = Number(new URL(first.url).port);
    const stranger = createServer().listen(port, '127.0.0.1');
    data.cleanUp(() => once(stranger.close(), 'close'));
    await once(stranger, 'listening');

    const second = await data.start();
    expect(new URL(second.url).port).not.toBe(String(port));
    expect(await query(second.url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
  });

  test('reports why it cannot start', async () => {
    await data.fill();
    await expect(data.start({ settings: { shared_buffers: 'plenty' } })).rejects.toThrow(
      /did not start.*"shared_buffers": "plenty"/s,
    );
  });
});

describe('accounts and directories', () => {
  test.runIf(isRoot())(
    'if other accounts cannot enter the data directory, the database is stored elsewhere and linked',
    async () => {
      await chmod(data.path, 0o700);
      const info = vi.fn();
      const postgres = await data.start({ log: pino({ level: 'info' }, { write: info }) });
      expect(postgres.dataDir.startsWith(data.path)).toBe(false);
      expect(await realpath(join(data.path, 'postgres'))).toBe(postgres.dataDir);
      expect(info.mock.calls.join()).toContain(postgres.dataDir);
      await query(postgres.url, 'CREATE TABLE note AS SELECT 7 AS number');
      await postgres.stop();

      const again = await data.start();
      expect(again.dataDir).toBe(postgres.dataDir);
      expect(await query(again.url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
    },
  );

  test.runIf(isRoot())('if root starts the server, it runs under an unprivileged account', async () => {
    const { dataDir: home } = await data.start();
    const { uid } = await unprivilegedAccount();
    expect(uid).toBeGreaterThan(0);
    expect((await stat(home)).uid).toBe(uid);
    if (process.platform === 'linux') expect((await stat(`/proc/${await data.serverPid()}`)).uid).toBe(uid);
  });

  test("if a normal user starts the server, it runs under that user's account", async ({ skip }) => {
    const account = isRoot() ? await unprivilegedAccount() : undefined;
    if (!(await canEnter(account, REPOSITORY))) skip('no account but root can read this checkout');
    if (account) await chown(data.path, account.uid, account.gid);
    const user = data.startUser(account);
    const { url, dataDir: home } = await user.nextMessage<Ready>();
    expect(home).toBe(join(data.path, 'postgres'));
    expect((await stat(home)).uid).toBe(account?.uid ?? process.getuid?.());
    await query(url, 'CREATE TABLE note AS SELECT 7 AS number');
    await user.end('SIGTERM');
    if (!account) return;

    // If root starts the server later, the server runs under the account that owns the files.
    const { url: laterUrl } = await data.start();
    expect(await query(laterUrl, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
  });

  test.runIf(isRoot())('a user who cannot open the database gets an error that names the owner', async ({ skip }) => {
    const account = await unprivilegedAccount();
    if (!(await canEnter(account, REPOSITORY))) skip('no account but root can read this checkout');
    const home = join(data.path, 'postgres');
    await mkdir(home, { mode: 0o700 });
    await chown(home, account.uid + 1, account.gid);
    const user = data.startUser(account);
    await expect(user.nextMessage()).rejects.toThrow(`belongs to user ID ${account.uid + 1}`);
  });
});
