import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

// A connection that the server closes emits an event. Without a listener, the event ends the process.

const ROOT = new URL('../..', import.meta.url).pathname;
const OPENED = /(?:(\w+) = )?new pg\.(?:Client|Pool)\(/g;

const files = ['src', 'bench', 'scripts'].flatMap((folder) =>
  globSync(`${folder}/**/*.ts`, { cwd: ROOT, exclude: ['**/node_modules/**'] }),
);
const opened = files.flatMap((path) => {
  const text = readFileSync(`${ROOT}/${path}`, 'utf8');
  return [...text.matchAll(OPENED)].map(([code, name]) => ({ path, text, code, name }));
});

test('every database connection has a listener, so that losing the connection does not end the process', () => {
  const isHeard = ({ text, name }: (typeof opened)[number]) => name && text.includes(`${name}.on('error', `);
  expect(opened.filter((connection) => !isHeard(connection)).map(({ path, code }) => `${path}: ${code}`)).toEqual([]);
});

test('the check finds the connections', () => {
  const paths = opened.map(({ path }) => path);
  for (const path of ['src/bus/bus.ts', 'src/database/client.ts', 'src/database/connection.ts'])
    expect(paths).toContain(path);
});
