import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/releases');
const RELEASE = join(ROOT, 'test/compatibility/released/release.json');

/** The commit of the last release. */
export const readReleasedCommit = async (): Promise<string> => JSON.parse(await readFile(RELEASE, 'utf8')).commit;

/**
 * Builds the server from a commit, using the packages that are installed here, and keeps the build for the next run.
 *
 * @returns its folder, which has `dist/server/main.mjs`
 * @throws Error with the compiler's output if it can't be built with these packages
 */
export async function buildRelease(commit: string): Promise<string> {
  const folder = join(CACHE, commit);
  if (existsSync(folder)) return folder;
  await mkdir(CACHE, { recursive: true });
  const unfinished = await mkdtemp(join(CACHE, 'unfinished-'));
  await run('sh', ['-c', 'git archive "$1" | tar -x -C "$2"', 'sh', commit, unfinished], { cwd: ROOT });
  await symlink(join(ROOT, 'node_modules'), join(unfinished, 'node_modules'));
  const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);
  await run(bin('prisma'), ['generate'], { cwd: unfinished });
  await run(bin('graphql-codegen'), ['--config', 'codegen.ts'], { cwd: unfinished });
  await run(bin('rolldown'), ['--config', 'rolldown.config.ts'], { cwd: unfinished, maxBuffer: 2 ** 26 });
  const built = await mkdtemp(join(CACHE, 'unfinished-'));
  // The server finds the migrations relative to itself.
  for (const part of ['dist', 'prisma/migrations', 'package.json'])
    await cp(join(unfinished, part), join(built, part), { recursive: true });
  // Some packages aren't in the build, and are loaded from node_modules.
  await symlink(join(ROOT, 'node_modules'), join(built, 'node_modules'));
  await rm(unfinished, { recursive: true });
  // If several processes build it at the same time, one result is kept.
  await rename(built, folder).catch(async (error) => {
    await rm(built, { recursive: true });
    if (!existsSync(folder)) throw error;
  });
  return folder;
}
