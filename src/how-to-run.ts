import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { VERSION } from './version.ts';

const IN_A_CLONE = {
  start: 'npm start',
  demo: 'npm run demo',
  token: 'npx tollgate token',
  tollgate: 'npx tollgate',
  rotateSecrets: 'npm run rotate-secrets',
};

function inTheBuild() {
  const tollgate = commandOfPackage(process.env.npm_command, existsSync);
  return {
    tollgate,
    start: `${tollgate} start`,
    demo: `${tollgate} demo`,
    token: `${tollgate} token`,
    // All files of the build are in one folder.
    rotateSecrets: `node ${join(import.meta.dirname, 'rotate-secrets.mjs')}`,
  };
}

/**
 * The command to type in the current folder to run the package again. npx doesn't put it on the PATH, and without a file
 * or an installed package, npx would look for it in npm's registry.
 *
 * @param npmCommand `npm_command`, which npm sets: `exec` under npx
 * @param exists whether there is a file at a path, relative to the current folder
 */
export function commandOfPackage(npmCommand: string | undefined, exists: (path: string) => boolean): string {
  if (npmCommand !== 'exec') return 'tollgate';
  const file = `./tollgate-${VERSION}.tgz`;
  return exists('node_modules/.bin/tollgate') || !exists(file) ? 'npx tollgate' : `npx ${file}`;
}

/** The commands that users type. The build has no npm scripts. */
export const HOW_TO_RUN = extname(import.meta.filename) === '.ts' ? IN_A_CLONE : inTheBuild();
