// Brings a fresh clone to where the commands can run: packages installed, code generated. Runs on whatever Node npm runs
// on, before there are packages, so it is plain JavaScript and uses nothing but Node.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = join(root, 'node_modules', '.bin');

function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
  if (status === 0) return;
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}\n${command} ${args.join(' ')} failed\n`);
  process.exit(1);
}

/** Runs a step unless it has run for exactly these inputs. */
function once(name, inputs, results, step) {
  const digest = createHash('sha256');
  for (const path of inputs) digest.update(path).update(readFileSync(join(root, path)));
  const hash = digest.digest('hex');
  const stamp = join(root, 'node_modules', '.tollgate', name);
  const isDone =
    existsSync(stamp) && readFileSync(stamp, 'utf8') === hash && results.every((path) => existsSync(join(root, path)));
  if (isDone) return;
  step();
  mkdirSync(join(root, 'node_modules', '.tollgate'), { recursive: true });
  writeFileSync(stamp, hash);
}

once('packages', ['package-lock.json'], ['node_modules/.bin/node'], () => {
  process.stderr.write('Installing packages …\n');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
});

/** All files under a folder whose path has that end, relative to the root. */
function sources(folder, ending) {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

once(
  'database-client',
  ['prisma/schema.prisma', 'prisma.config.ts', 'package-lock.json'],
  ['src/generated/prisma/client.ts', 'src/generated/pothos.ts'],
  () => {
    run(join(bin, 'prisma'), ['generate']);
  },
);
const operationsOfConsole = sources('src/console/operations', '.graphql');
const documentOf = (operation) =>
  operation.replace('src/console/operations', 'src/generated/console').replace(/graphql$/, 'ts');

once(
  'documents',
  [
    'codegen.ts',
    ...sources('src/rest/operations', '.graphql'),
    ...sources('src/cli/operations', '.graphql'),
    ...operationsOfConsole,
    ...sources('src/graphql', '.ts'),
    ...sources('src/features', 'schema.ts'),
  ],
  ['src/generated/rest-documents.ts', 'src/generated/cli-documents.ts', ...operationsOfConsole.map(documentOf)],
  () => run(join(bin, 'node'), [join(bin, 'graphql-codegen'), '--config', 'codegen.ts']),
);
once(
  'console',
  ['vite.config.ts', 'package-lock.json', ...sources('src/console', ''), ...operationsOfConsole.map(documentOf)],
  ['dist/console/index.html'],
  () => run(join(bin, 'node'), [join(bin, 'vite'), 'build']),
);
