import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCli } from '../support/cli.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { INHERITED } from '../support/inherited.ts';

const ROOT = resolve(import.meta.dirname, '../..');

let database: TestDatabase;
let dataDir: string;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-start-'));
});

afterAll(async () => {
  await database.drop();
  await rm(dataDir, { recursive: true });
});

/** Ends the shell and any of its processes that are still running. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

test('the service stops when the shell that npm started it in ends on SIGTERM', async () => {
  const port = await freePort();
  const ready = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  // A shell that has another command to run remains the parent process of Node. Many shells always do.
  const shell = spawn('sh', ['-c', 'node_modules/.bin/node src/cli/main.ts start; true'], {
    cwd: ROOT,
    detached: true,
    env: {
      ...{ ...INHERITED, npm_lifecycle_event: 'start', NODE_ENV: 'test', SANDBOX: 'off' },
      ...{ PORT: String(port), DATABASE_URL: database.url, DATA_DIR: dataDir },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  shell.stdout.on('data', (chunk) => (output += chunk));
  try {
    await expect.poll(ready).toBe(true);
    shell.kill('SIGTERM');
    await once(shell, 'exit');
    expect(shell.signalCode).toBe('SIGTERM');
    await expect.poll(() => output).toContain('"msg":"stopped"');
  } finally {
    endGroup(shell.pid!);
  }
});

const settings = (port: number) => ({
  ...{ NODE_ENV: 'development', SANDBOX: 'off', LOG_LEVEL: 'info' },
  ...{ PORT: String(port), DATABASE_URL: database.url, DATA_DIR: dataDir },
});

test('with LOG_FORMAT=text, start first prints what people need to read, and the log has no JSON', async () => {
  const service = startCli(['start'], { ...settings(await freePort()), LOG_FORMAT: 'text' });
  await service.waitFor(/Tollgate is running\./);
  service.signal('SIGTERM');
  const { code, stdout } = await service.ended;
  expect(code).toBe(0);
  expect(stdout.trim()).toMatch(/^Tollgate is starting …\s+Tollgate is running\.\s+Console/);
  expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: listening/m);
  expect(stdout).not.toContain('{"level"');
});

test('with LOG_FORMAT=text, a service that can’t start prints its log and the reason', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const empty = await createEmptyDatabase();
  const env = { ...settings(port), DATABASE_URL: empty.url, LOG_FORMAT: 'text' };
  const { code, stdout, stderr } = await startCli(['start'], env).ended;
  expect(code).toBe(1);
  expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: migrations applied/m);
  expect(stderr).toContain('is already in use');
  server.close();
  await empty.drop();
});

test('without a terminal, the log is JSON', async () => {
  const service = startCli(['start'], settings(await freePort()));
  await service.waitFor(/"msg":"listening"/);
  service.signal('SIGTERM');
  await service.ended;
});

test('start says that its port is already in use, and what to do', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await startCli(['start'], settings(port)).ended;
  expect(code).toBe(1);
  expect(stderr).toBe(`Port ${port} is already in use. Stop the program that uses it, or set PORT to another port.\n`);
  server.close();
});

test('start says why its database cannot be used, without the password or a stack trace', async () => {
  const url = new URL(database.url);
  url.password = 'hunter2-hunter2';
  const at = async (change: (url: URL) => void) => {
    const other = new URL(url);
    change(other);
    const { code, stdout, stderr } = await startCli(['start'], {
      ...{ ...settings(await freePort()), LOG_LEVEL: 'warn' },
      DATABASE_URL: other.href,
    }).ended;
    expect(code).toBe(1);
    expect(stdout + stderr).not.toContain('hunter2');
    return stderr;
  };
  const closed = await freePort();
  expect(await at((other) => (other.port = String(closed)))).toBe(
    `The database at DATABASE_URL (${url.hostname}:${closed}${url.pathname}) can't be used: connect ECONNREFUSED ${url.hostname}:${closed}.\n`,
  );
  expect(await at((other) => (other.pathname = '/other'))).toBe(
    `The database at DATABASE_URL (${url.host}/other) can't be used: password authentication failed for user "${url.username}".\n`,
  );
});
