// Prepares a fresh clone: installs packages and generates code. It runs on npm's Node before packages are installed, so
// it is plain JavaScript without dependencies.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireLock } from './setup-lock.mjs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Tollgate requires Node 20.19 or later, but this is Node ${process.versions.node}.\n`);
  process.exit(1);
}

const root = resolve(fileURLToPath(import.meta.url), '../..');
const bin = join(root, 'node_modules', '.bin');
const stamps = join(root, 'node_modules', '.tollgate');

/** The paths of all files in a folder whose names have this ending, relative to the root. */
function sources(folder, ending) {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return (
    entries
      .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      // VitePress keeps files in `.temp` while it builds.
      .filter((path) => !path.includes('/.temp/'))
      .sort()
  );
}

const operationsOfConsole = sources('src/console/operations', '.graphql');
const documentsOfConsole = operationsOfConsole.map((operation) =>
  operation.replace('src/console/operations', 'src/generated/console').replace(/graphql$/, 'ts'),
);

/**
 * The steps in order, each with its inputs, results, command, and a description for people. Installed programs,
 * including Node, are found on the PATH.
 */
const STEPS = [
  {
    name: 'packages',
    inputs: ['package-lock.json'],
    results: ['node_modules/.bin/node'],
    command: ['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'],
    message: 'Installing packages',
  },
  {
    name: 'database-client',
    inputs: ['prisma/schema.prisma', 'prisma.config.ts', 'package-lock.json'],
    results: ['src/generated/prisma/client.ts', 'src/generated/pothos.ts'],
    command: ['prisma', 'generate'],
    message: 'Generating the database client',
  },
  {
    name: 'documents',
    inputs: [
      'codegen.ts',
      ...sources('src/rest/operations', '.graphql'),
      ...sources('src/cli/operations', '.graphql'),
      ...operationsOfConsole,
      ...sources('src/graphql', '.ts'),
      ...sources('src/schema', '.ts'),
      ...sources('src/features', 'schema.ts'),
    ],
    results: ['src/generated/rest-documents.ts', 'src/generated/cli-documents.ts', ...documentsOfConsole],
    command: ['graphql-codegen', '--config', 'codegen.ts'],
    message: 'Generating the GraphQL operations',
  },
  {
    name: 'console',
    inputs: ['vite.config.ts', 'package-lock.json', ...sources('src/console', ''), ...documentsOfConsole],
    results: ['dist/console/index.html'],
    command: ['vite', 'build'],
    message: 'Building the console',
  },
  {
    name: 'docs',
    // Pages link to tests, so the build also contains copies of those tests. These copies may be outdated.
    inputs: [
      'package-lock.json',
      'scripts/bundled-packages.ts',
      ...readdirSync(root).filter((name) => name.endsWith('.md')),
      ...['bench/README.md', 'packages/sdk/README.md', 'prisma/README.md', 'src/console/README.md'],
      ...['src/delivery/README.md', 'src/features/payments/README.md', 'src/live/README.md'],
      ...['compose.yaml', 'schema.graphql', ...sources('deploy', ''), ...sources('docs', '')],
    ],
    results: ['dist/docs/index.html'],
    command: ['vitepress', 'build', 'docs'],
    message: 'Building the documentation',
  },
];

function hashOf({ inputs }) {
  const digest = createHash('sha256');
  for (const path of inputs) digest.update(path).update(readFileSync(join(root, path)));
  return digest.digest('hex');
}

/** Whether the step has already run with exactly these inputs. */
function isDone(step) {
  const stamp = join(stamps, step.name);
  try {
    if (readFileSync(stamp, 'utf8') !== hashOf(step)) return false;
  } catch (error) {
    // The step has never run, or its inputs must first be created by an earlier step.
    if (error.code === 'ENOENT') return false;
    throw error;
  }
  return step.results.every((path) => existsSync(join(root, path)));
}

/** Runs a command, then calls `onEnd`. Exits if the command failed. */
async function run([command, ...args], lock, onEnd) {
  // Installs and builds everything for production, even if a test or a development server runs the setup.
  const { NODE_ENV: _, ...env } = process.env;
  // Windows calls it Path.
  const path = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH';
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, [path]: `${bin}${delimiter}${env[path] ?? ''}` },
    // On Windows, npm and the programs in node_modules are command files, which only a shell can run.
    shell: process.platform === 'win32',
  });
  if (child.pid !== undefined) lock.note(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const error = await new Promise((done) => {
    child.on('error', done);
    child.on('close', (code) => done(code === 0 ? undefined : new Error('')));
  });
  onEnd();
  if (!error) return;
  process.stderr.write(`${output}${error.message}\n${command} ${args.join(' ')} failed\n`);
  process.exit(1);
}

const WRITE_ERRORS = ['EACCES', 'EPERM', 'EROFS'];
const TICK_MILLISECONDS = 1000;

/** Says what is being done and, in a terminal, for how long. Returns a function that ends the line. */
function showProgress(what) {
  if (!process.stderr.isTTY) {
    process.stderr.write(`${what} …\n`);
    return () => {};
  }
  const startedAt = Date.now();
  const show = () => process.stderr.write(`\r${what} … ${Math.round((Date.now() - startedAt) / 1000)} s`);
  show();
  const timer = setInterval(show, TICK_MILLISECONDS);
  return () => {
    clearInterval(timer);
    show();
    process.stderr.write('\n');
  };
}

async function lockSetup() {
  try {
    return await acquireLock(join(root, '.setup'), (pid) =>
      process.stderr.write(`Waiting for process ${pid} to finish the setup …\n`),
    );
  } catch (error) {
    if (!WRITE_ERRORS.includes(error.code)) throw error;
    process.stderr.write(`Can't write to ${root}: ${error.message}. Use a clone in a folder that you can write to.\n`);
    return process.exit(1);
  }
}

// Two setups at once, such as `npm start` and `npm run token`, would delete each other's files.
if (!STEPS.every(isDone)) {
  const lock = await lockSetup();
  for (const [index, step] of STEPS.entries()) {
    if (isDone(step)) continue;
    const hash = hashOf(step);
    const endProgress = showProgress(`[${index + 1}/${STEPS.length}] ${step.message}`);
    await run(step.command, lock, endProgress);
    mkdirSync(stamps, { recursive: true });
    writeFileSync(join(stamps, step.name), hash);
  }
  lock.release();
}
