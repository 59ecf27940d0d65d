import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** A fake npm. It deletes existing files, fails if another one is running, and continues once a file `go` exists. */
const NPM = `#!${process.execPath}
const { appendFileSync, chmodSync, existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } = require('node:fs');
const root = process.cwd();
appendFileSync(root + '/npm.log', process.pid + '\\n');
try {
  mkdirSync(root + '/npm-at-work');
} catch {
  process.stderr.write('npm error ENOTEMPTY: directory not empty, rmdir node_modules');
  process.exit(1);
}
rmSync(root + '/node_modules', { recursive: true, force: true });
const timer = setInterval(() => {
  if (!existsSync(root + '/go')) return;
  clearInterval(timer);
  mkdirSync(root + '/node_modules/.bin', { recursive: true });
  const tool = '#!${process.execPath}\\nrequire("node:fs").appendFileSync("tools.log", process.argv[1] + "\\\\n");';
  for (const name of ['prisma', 'graphql-codegen', 'vite', 'vitepress']) {
    writeFileSync(root + '/node_modules/.bin/' + name, tool, { mode: 0o755 });
  }
  require('node:fs').symlinkSync('${process.execPath}', root + '/node_modules/.bin/node');
  rmdirSync(root + '/npm-at-work');
}, 10);
`;

/** Files that the setup reads, and files that its tools would generate. */
const FILES = [
  'package-lock.json',
  'prisma/schema.prisma',
  'prisma.config.ts',
  'codegen.ts',
  'vite.config.ts',
  'src/rest/operations/a.graphql',
  'src/cli/operations/a.graphql',
  'src/console/operations/a.graphql',
  'src/graphql/a.ts',
  'src/schema/a.ts',
  'src/features/a/schema.ts',
  'src/generated/prisma/client.ts',
  'src/generated/pothos.ts',
  'src/generated/rest-documents.ts',
  'src/generated/cli-documents.ts',
  'src/generated/console/a.ts',
  'dist/console/index.html',
  'scripts/bundled-packages.ts',
  'README.md',
  'bench/README.md',
  'packages/sdk/README.md',
  'prisma/README.md',
  'src/console/README.md',
  'src/delivery/README.md',
  'src/features/payments/README.md',
  'src/live/README.md',
  'compose.yaml',
  'schema.graphql',
  'deploy/a.yaml',
  'docs/a.md',
  'dist/docs/index.html',
];

let folder: string;
let started: Setup[];
type Setup = { process: ChildProcess; output: () => string; ended: Promise<number | null> };

beforeEach(async () => {
  started = [];
  folder = await mkdtemp(join(tmpdir(), 'setup-'));
  for (const path of FILES) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), path);
  }
  await cp(join(ROOT, 'scripts'), join(folder, 'scripts'), {
    recursive: true,
    filter: (path) => path.endsWith('scripts') || path.endsWith('.mjs'),
  });
  await mkdir(join(folder, 'fake'));
  await writeFile(join(folder, 'fake/npm'), NPM);
  await chmod(join(folder, 'fake/npm'), 0o755);
});
afterEach(async () => {
  await goOn();
  for (const setup of started) await setup.ended;
  await rm(folder, { recursive: true, force: true });
});

function start(...options: string[]): Setup {
  const env = { ...process.env, PATH: `${join(folder, 'fake')}${delimiter}${process.env.PATH}` };
  const child = spawn(process.execPath, [...options, 'scripts/setup.mjs'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
  const setup = { process: child, output: () => text, ended: once(child, 'exit').then(([code]) => code) };
  started.push(setup);
  return setup;
}

const goOn = () => writeFile(join(folder, 'go'), '');
const linesOf = async (name: string) =>
  (await readFile(join(folder, name), 'utf8').catch(() => '')).split('\n').filter(Boolean);
/** Returns the process IDs of all npm runs so far. */
const npmRuns = async () => (await linesOf('npm.log')).map(Number);
const npmHasRun = (times: number) => expect.poll(npmRuns).toHaveLength(times);
const hasToWait = (setup: Setup) =>
  expect.poll(() => setup.output() || setup.process.exitCode).toMatch(/Waiting for process \d+ to finish the setup/);

/** Expects that everything was generated once, in order, and that no lock is left. */
async function expectMadeOnce(): Promise<void> {
  const tools = (await linesOf('tools.log')).map((path) => path.split('/').at(-1));
  expect(tools).toEqual(['prisma', 'graphql-codegen', 'vite', 'vitepress']);
  expect(await readdir(join(folder, '.setup'))).toEqual([]);
}

test('if two setups run at the same time, one waits and then has nothing to do', async () => {
  const first = start();
  await npmHasRun(1);
  const second = start();
  await hasToWait(second);
  await goOn();
  expect(await Promise.all([first.ended, second.ended]), first.output() + second.output()).toEqual([0, 0]);
  expect(await npmRuns()).toHaveLength(1);
  expect(first.output()).toBe(
    [
      '[1/5] Installing packages …',
      '[2/5] Generating the database client …',
      '[3/5] Generating the GraphQL operations …',
      '[4/5] Building the console …',
      '[5/5] Building the documentation …\n',
    ].join('\n'),
  );
  await expectMadeOnce();
});

test('on a Node that is too old, the setup says which version it needs', async () => {
  const pretend = "Object.defineProperty(process.versions, 'node', { value: '20.18.3' })";
  const setup = start('--import', `data:text/javascript,${pretend}`);
  expect(await setup.ended).toBe(1);
  expect(setup.output()).toBe('Tollgate requires Node 20.19 or later, but this is Node 20.18.3.\n');
});

test('in a folder that can’t be written to, the setup says so', async () => {
  // Tests may run as root, which can write anywhere.
  const refuse = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    fs.mkdirSync = () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    };
    syncBuiltinESMExports();`;
  const setup = start('--import', `data:text/javascript,${encodeURIComponent(refuse)}`);
  expect(await setup.ended).toBe(1);
  expect(setup.output()).toMatch(
    /^Can't write to \S+: EACCES: permission denied\. Use a clone in a folder that you can/,
  );
});

test('a setup with nothing to do neither waits nor runs anything', async () => {
  await goOn();
  await start().ended;
  await rm(join(folder, '.setup'), { recursive: true });
  const again = start();
  expect(await again.ended).toBe(0);
  expect(again.output()).toBe('');
  expect(await npmRuns()).toHaveLength(1);
  await expect(readdir(join(folder, '.setup'))).rejects.toThrow('ENOENT');
});

test('the setup after a crashed one waits for the npm process that is still running, and then takes over', async () => {
  const first = start();
  await npmHasRun(1);
  first.process.kill('SIGKILL');
  await first.ended;
  const second = start();
  await hasToWait(second);
  await goOn();
  expect(await second.ended, second.output()).toBe(0);
  expect(await npmRuns()).toHaveLength(2);
  await expectMadeOnce();
});

test('if many setups start after a crashed one, one takes over and the rest wait for it', async () => {
  const first = start();
  await npmHasRun(1);
  first.process.kill('SIGKILL');
  const [npm] = await npmRuns();
  process.kill(npm!, 'SIGKILL');
  await rm(join(folder, 'npm-at-work'), { recursive: true });

  const others = Array.from({ length: 6 }, () => start());
  await npmHasRun(2);
  await expect
    .poll(() => others.filter((setup) => setup.output().includes('Waiting')).length)
    .toBeGreaterThanOrEqual(5);
  await goOn();
  const exits = await Promise.all(others.map(({ ended }) => ended));
  expect(exits, others.map(({ output }) => output()).join('\n')).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await npmRuns()).toHaveLength(2);
  await expectMadeOnce();
});

test('a setup that fails prints the reason and releases the lock', async () => {
  const first = start();
  await npmHasRun(1);
  const second = start();
  await hasToWait(second);
  process.kill((await npmRuns())[0]!, 'SIGTERM');
  expect(await first.ended).toBe(1);
  expect(first.output()).toContain('npm ci --no-audit --no-fund --loglevel=error failed');
  // The second one continues, and fails because of the files that the killed npm left behind.
  expect(await second.ended).toBe(1);
  expect(second.output()).toContain('ENOTEMPTY');
  expect(await readdir(join(folder, '.setup'))).toEqual([]);
});

test('a lock is taken over if another process now has the process ID of its holder', async () => {
  const holder = `${process.pid}-0123456789ab`;
  await mkdir(join(folder, '.setup/lock'), { recursive: true });
  await writeFile(join(folder, '.setup/lock', holder), `${process.pid} 1\n`);
  await goOn();
  const setup = start();
  expect(await setup.ended, setup.output()).toBe(0);
  expect(setup.output()).not.toContain('Waiting');
  await expectMadeOnce();
});
