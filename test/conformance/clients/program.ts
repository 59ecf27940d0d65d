import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeBlocks, readPage, section } from '../../docs/pages.ts';
import { INHERITED } from '../../support/inherited.ts';
import { NODE } from '../../support/programs.ts';

export type Result = { code: number | null; stdout: string; stderr: string };

/** A running program, with what it has printed so far. */
export type Running = { stdout(): string; stderr(): string; ended: Promise<Result>; kill(): Promise<void> };

/**
 * Creates a folder with a package's files, such as the project of someone who has installed the clients. Programs and
 * files are named by their path in the folder.
 *
 * @param installed the folder that `installClients` returned.
 */
export async function openFolder(installed: string, files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-client-'));
  await symlink(join(installed, 'node_modules'), join(folder, 'node_modules'));
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  };
  await write('package.json', JSON.stringify({ private: true, type: 'module' }));
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const running = new Set<ChildProcess>();

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
    const child = spawn(NODE, args, {
      cwd: folder,
      env: { ...INHERITED, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk) => (output[name] += chunk));
    const ended = once(child, 'close').then(([code]) => {
      running.delete(child);
      return { code: code as number | null, ...output };
    });
    const kill = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    return { stdout: () => output.stdout, stderr: () => output.stderr, ended, kill };
  }

  return {
    write,
    copy: (from: string, name: string) => cp(from, join(folder, name)),
    start,
    run: (args: readonly string[], env?: Readonly<Record<string, string>>) => start(args, env).ended,
    async close() {
      for (const child of running) child.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Folder = Awaited<ReturnType<typeof openFolder>>;

const SCHEMA = join(import.meta.dirname, '../../../schema.graphql');

/**
 * Compiles documents with the Relay compiler. The artifacts are in `relay/__generated__`.
 *
 * @param documents by the name of their module, which their operations' names must start with.
 * @returns what the compiler printed, and its exit code.
 */
export async function compileForRelay(folder: Folder, documents: Readonly<Record<string, string>>): Promise<Result> {
  await folder.copy(SCHEMA, 'schema.graphql');
  const options = { src: './relay', schema: './schema.graphql', language: 'javascript', eagerEsModules: true };
  await folder.write('relay.config.json', JSON.stringify({ ...options, customScalarTypes: { DateTime: 'string' } }));
  for (const [name, text] of Object.entries(documents)) await folder.write(`relay/${name}.js`, `graphql\`${text}\`;`);
  return folder.run(['node_modules/relay-compiler/cli.js']);
}

/** Runs the program of the documentation that writes type policies for Apollo Client. */
export async function writePolicies(folder: Folder): Promise<void> {
  const [program] = codeBlocks(section(await readPage('docs/api-clients.md'), '### Apollo Client'), 'js');
  await folder.copy(SCHEMA, 'schema.graphql');
  await folder.write('write-policies.js', program!);
  const { code, stderr } = await folder.run(['write-policies.js']);
  if (code !== 0) throw new Error(stderr);
}
