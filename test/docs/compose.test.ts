import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VARIABLES } from '../../src/config/variables.ts';
import { ROOT } from './pages.ts';

/** Settings that compose.yaml sets itself or leaves at their defaults. */
const OF_THE_PROCESS = [
  ...['NODE_ENV', 'PORT', 'HOST', 'DATA_DIR', 'ROLES', 'SANDBOX'],
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_READ_URL'],
];

test('every setting in .env reaches the containers', async () => {
  const compose = await readFile(join(ROOT, 'compose.yaml'), 'utf8');
  const handedOn = Array.from(compose.matchAll(/^ {2}([A-Z_]+): \$\{\1:/gm), ([, name]) => name);
  const wanted = Object.keys(VARIABLES).filter((name) => !OF_THE_PROCESS.includes(name));
  expect(handedOn.toSorted()).toEqual(wanted.toSorted());
});
