import { spawn } from 'node:child_process';
import { chown, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { isRoot } from '../../../src/database/embedded/account.ts';
import { isAlive } from '../../../src/database/embedded/process.ts';
import { isSupervised } from '../../../src/database/embedded/supervisor.ts';
import { clusterOf, query, type Ready, useDataDirectory } from './data-directory.ts';

const data = useDataDirectory();

describe('processes that share a data directory', () => {
  beforeEach(() => data.fill());

  test('use one server, which the last process to exit stops', async () => {
    const [first, second] = [data.startUser(), data.startUser()];
    const [{ url }, other] = await Promise.all([first.nextMessage<Ready>(), second.nextMessage<Ready>()]);
    expect(other.url).toBe(url);

    await first.end('SIGTERM');
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const pid = await data.serverPid();
    await second.end('SIGTERM');
    expect(isAlive(pid)).toBe(false);
  });

  test('keep the server when the process that started it is killed', async () => {
    const first = data.startUser();
    const { url } = await first.nextMessage<Ready>();
    const second = await data.start();
    await first.end('SIGKILL');
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(second.url).toBe(url);
  });

  test('all get a server, even while another process shuts one down', async () => {
    for (let round = 0; round < 15; round++) {
      const leaving = await data.start();
      const [, ...servers] = await Promise.all([leaving.stop(), data.start(), data.start(), data.start()]);
      for (const { url } of servers) expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await Promise.all(servers.map((server) => server.stop()));
    }
  });

  test('can finish their work after Ctrl-C, because the signal does not reach the server', async () => {
    const user = data.startUser({ detached: true });
    await user.nextMessage<Ready>();
    process.kill(-user.pid, 'SIGINT');
    expect(await user.nextMessage()).toEqual({ response: 1 });
    expect(await user.ended()).toBe(0);
  });
});

describe('recovery from a crash', () => {
  beforeEach(() => data.fill());

  test("if the server's only user crashes, the server stops on its own, and the next start finds the committed data", async () => {
    const user = data.startUser();
    const { url, dataDir: home } = await user.nextMessage<Ready>();
    await query(url, 'CREATE TABLE note AS SELECT 7 AS number');
    const pid = await data.serverPid();
    await user.end('SIGKILL');
    await ended(pid);
    await expect.poll(() => isSupervised(home)).toBe(false);

    const next = await data.start();
    expect(await query(next.url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
  });

  test("if the server's only user crashes, the next start succeeds immediately", async () => {
    const user = data.startUser();
    const { url } = await user.nextMessage<Ready>();
    await query(url, 'CREATE TABLE note AS SELECT 7 AS number');
    await user.end('SIGKILL');
    const next = await data.start();
    expect(await query(next.url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
  });

  test('if the server crashes, it restarts on the same port while it has users', async () => {
    const { url } = await data.start();
    await query(url, 'CREATE TABLE note AS SELECT 7 AS number');
    const pid = await data.serverPid();
    process.kill(pid, 'SIGKILL');
    await ended(pid);
    await vi.waitFor(async () => expect(await query(url, 'SELECT number FROM note')).toEqual([{ number: 7 }]), {
      timeout: 60_000,
    });
  });

  test.runIf(process.platform === 'linux')(
    'if everything except the server crashes, the next start stops and replaces the server',
    async () => {
      const user = data.startUser();
      const { url } = await user.nextMessage<Ready>();
      await query(url, 'CREATE TABLE note AS SELECT 7 AS number');
      const pid = await data.serverPid();
      const shell = await parentOf(pid);
      const watchers = (await childrenOf(shell)).filter((child) => child !== pid);
      expect(watchers).toHaveLength(1);
      for (const victim of [shell, ...watchers, user.pid]) process.kill(victim, 'SIGKILL');
      await user.ended();
      expect(await query(url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);

      const next = await data.start();
      // The file is empty for a process that has ended, even if nobody has reaped it yet.
      expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).toBe('');
      expect(await query(next.url, 'SELECT number FROM note')).toEqual([{ number: 7 }]);
    },
  );

  test('a lock file with the process ID of an unrelated process does not prevent the start', async () => {
    const { dataDir: home, stop } = await data.start();
    await stop();
    const { uid, gid } = await stat(home);
    // PostgreSQL mistakes any live process that runs under its own account for a server.
    const stranger = spawn('sleep', ['60'], { ...(isRoot() && { uid, gid }), stdio: 'ignore' });
    data.cleanUp(async () => stranger.kill());
    const lockFile = join(clusterOf(home), 'postmaster.pid');
    await writeFile(lockFile, `${stranger.pid}\n${clusterOf(home)}\n1\n1\n\n127.0.0.1\n\nready   \n`);
    if (isRoot()) await chown(lockFile, uid, gid);

    const { url } = await data.start();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });
});

test('after a crash while the database is being created, the next start creates it again', async () => {
  const user = data.startUser();
  const home = join(data.path, 'postgres');
  const unfinished = async () => (await readdir(home)).filter((name) => name.startsWith('unfinished-'));
  await vi.waitFor(async () => expect(await unfinished()).toHaveLength(1), { timeout: 60_000, interval: 1 });
  await user.end('SIGKILL');
  expect(await readdir(home)).not.toContain('database');

  const { url } = await data.start();
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(await unfinished()).toEqual([]);
});

async function ended(...pids: number[]): Promise<void> {
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
}

async function parentOf(pid: number): Promise<number> {
  return Number(/^PPid:\s*(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))?.[1]);
}

async function childrenOf(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(pids.map(parentOf));
  return pids.filter((_, index) => parents[index] === pid);
}
