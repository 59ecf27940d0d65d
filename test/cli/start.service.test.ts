import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
      ...INHERITED,
      npm_lifecycle_event: 'start',
      NODE_ENV: 'test',
      SANDBOX: 'off',
      PORT: String(port),
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
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
  NODE_ENV: 'development',
  SANDBOX: 'off',
  LOG_LEVEL: 'info',
  PORT: String(port),
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
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
  const empty = await createEmptyDatabase();
  const keys = join(dataDir, 'broken');
  await mkdir(keys);
  await writeFile(join(keys, 'secret-keys'), 'not a key');
  const env = { ...settings(await freePort()), DATABASE_URL: empty.url, DATA_DIR: keys, LOG_FORMAT: 'text' };
  const { code, stdout, stderr } = await startCli(['start'], env).ended;
  expect(code).toBe(1);
  expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: migrations applied/m);
  expect(stderr).toContain('secret-keys');
  await empty.drop();
});

test('without a terminal, standard output has only JSON lines, and people find theirs on standard error', async () => {
  const service = startCli(['start'], settings(await freePort()));
  await service.waitFor(/"msg":"listening"[\s\S]*Tollgate is running\./);
  service.signal('SIGTERM');
  const { stdout } = await service.ended;
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg),
  ).toContain('listening');
});

test('start says that another program uses its port, before it touches the database, and names a free port', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // This server accepts connections, but says nothing.
  server.on('connection', (socket) => socket.on('data', () => socket.end()));
  const { code, stdout, stderr } = await startCli(['start'], settings(port)).ended;
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    new RegExp(
      `^Port ${port} is already in use by another program\\.\\n +To see which one: +(ss|lsof) .*${port}.*\\n +To use another port: +PORT=\\d+ (npm|tollgate) start\\n$`,
    ),
  );
  server.close();
});

test('start says that another Tollgate server uses its port, and where its console is', async () => {
  const first = startCli(['start'], settings(await freePort()));
  const [, url] = await first.waitFor(/Console +(\S+)/);
  const { port } = new URL(url!);
  const second = await startCli(['start'], settings(Number(port))).ended;
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(/^Port \d+ is already in use by another Tollgate server/);
  expect(second.stderr).toContain(`To use that server:    ${url}\n`);
  first.signal('SIGTERM');
  expect((await first.ended).code).toBe(0);
});

test('start says which data directory it can’t write to', async () => {
  const file = join(dataDir, 'file');
  await writeFile(file, '');
  const directory = join(file, '.data');
  const { code, stderr } = await startCli(['start'], { ...settings(await freePort()), DATA_DIR: directory }).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Tollgate can't write to its data directory \S+\/file\/\.data: ENOTDIR: not a directory, /);
  expect(stderr).toMatch(/\nStart it in a folder that you can write to, or set DATA_DIR to one\.\n$/);
});

test('start says why its database cannot be used, without the password or a stack trace', async () => {
  const url = new URL(database.url);
  url.password = 'hunter2-hunter2';
  const at = async (change: (url: URL) => void) => {
    const other = new URL(url);
    change(other);
    const { code, stdout, stderr } = await startCli(['start'], {
      ...settings(await freePort()),
      LOG_LEVEL: 'warn',
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
