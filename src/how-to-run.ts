import { extname, join } from 'node:path';

const IN_A_CLONE = {
  start: 'npm start',
  demo: 'npm run demo',
  token: 'npm run --silent token --',
  rotateSecrets: 'npm run rotate-secrets',
};

// All files of the build are in one folder.
const IN_THE_BUILD = {
  start: 'npx tollgate start',
  demo: 'npx tollgate demo',
  token: 'npx tollgate token',
  rotateSecrets: `node ${join(import.meta.dirname, 'rotate-secrets.mjs')}`,
};

/** The commands that users type. The build has no npm scripts. */
export const HOW_TO_RUN = extname(import.meta.filename) === '.ts' ? IN_A_CLONE : IN_THE_BUILD;
