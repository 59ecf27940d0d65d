import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** The Node that the project pins. */
export const NODE = join(ROOT, 'node_modules/.bin/node');

/**
 * The folder with the built programs in `npm run test:all`. It starts hundreds of processes, and a built program starts
 * with a third of the CPU time.
 */
const BUILD = process.env.TEST_BUILD;

/** The service, as `npm start` and a container run it. */
export const MAIN = BUILD ? join(BUILD, 'main.mjs') : join(ROOT, 'src/main.ts');
/** The command line. */
export const CLI = BUILD ? join(BUILD, 'cli.mjs') : join(ROOT, 'src/cli/main.ts');

/** Builds the server into a folder. */
export async function buildServer(folder: string): Promise<void> {
  if (BUILD) return cp(BUILD, folder, { recursive: true });
  const options = ['--config', 'rolldown.config.ts', '--dir', folder];
  await run(NODE, [join(ROOT, 'node_modules/.bin/rolldown'), ...options], { cwd: ROOT });
}
