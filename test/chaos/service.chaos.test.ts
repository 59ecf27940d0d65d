import { expect, test } from 'vitest';
import { runBench } from '../support/bench.ts';

// The short version of `npm run chaos`.

/** Returns the number in the line with this name. */
const numberOf = (output: string, name: string) =>
  Number(
    output
      .split('\n')
      .find((line) => line.includes(name))
      ?.replaceAll(/\D/g, ''),
  );

test('no event is lost or stuck when workers, servers, and the database are killed', async ({ signal }) => {
  // This seed breaks each kind of process more than once. A process that is still starting is left alone.
  const { code, output } = await runBench(
    'chaos/main.ts',
    ['--events', '600', '--break-every', '75', '--seed', '42'],
    signal,
  );
  expect(code, output).toBe(0);
  expect(output).toMatch(/killed (?!0)\d+ workers, (?!0)\d servers, (?!0)\d databases/);
  expect(numberOf(output, 'events in')).toBe(600);
  expect(numberOf(output, 'received')).toBe(1_200);
  for (const name of ['lost', 'stuck', 'miscounted']) expect(numberOf(output, name)).toBe(0);
});

test('workers that are stopped by SIGTERM under load lose nothing and send nothing twice', async ({ signal }) => {
  const { code, output } = await runBench('chaos/main.ts', ['--sigterm', '4', '--seed', '3'], signal);
  expect(code, output).toBe(0);
  expect(output).toContain('ended 4 workers with SIGTERM under load, 0 of them uncleanly');
  expect(numberOf(output, 'received')).toBe(2 * numberOf(output, 'events in'));
  expect(numberOf(output, 'duplicates')).toBe(0);
});
