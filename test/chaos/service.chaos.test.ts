import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

// The short form of `npm run chaos`.

const ROOT = resolve(import.meta.dirname, '../..');

/** Runs `npm run chaos` with these arguments. */
async function runChaos(...args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'bench/chaos/main.ts'), ...args]);
  const exit = once(child, 'close') as Promise<[number]>;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await exit;
  return { code, output };
}

/** Returns the number in the line with this name. */
const numberOf = (output: string, name: string) =>
  Number(
    output
      .split('\n')
      .find((line) => line.includes(name))
      ?.replaceAll(/\D/g, ''),
  );

test('no event is lost or stuck when workers, servers, and the database are killed', async () => {
  // This seed breaks each kind of process more than once. A process that is still starting is left alone.
  const { code, output } = await runChaos('--events', '600', '--break-every', '75', '--seed', '42');
  expect(code, output).toBe(0);
  expect(output).toMatch(/killed (?!0)\d+ workers, (?!0)\d servers, (?!0)\d databases/);
  expect(numberOf(output, 'events in')).toBe(600);
  expect(numberOf(output, 'received')).toBe(1_200);
  for (const name of ['lost', 'stuck', 'miscounted']) expect(numberOf(output, name)).toBe(0);
}, 240_000);

test('workers that are stopped by SIGTERM under load lose nothing and send nothing twice', async () => {
  const { code, output } = await runChaos('--sigterm', '4', '--seed', '3');
  expect(code, output).toBe(0);
  expect(output).toContain('ended 4 workers with SIGTERM under load, 0 of them uncleanly');
  expect(numberOf(output, 'received')).toBe(2 * numberOf(output, 'events in'));
  expect(numberOf(output, 'duplicates')).toBe(0);
}, 240_000);
