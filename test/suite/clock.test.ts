import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** Code that makes a test depend on how fast the machine is. */
const RACES: Readonly<Record<string, RegExp>> = {
  'waits for a fixed time':
    /import \{[^}]*\bsetTimeout\b[^}]*\} from 'node:timers\/promises'|setTimeout\((resolve|done)\b/,
  'has an upper bound for elapsed time':
    /expect\([^;\n]*(performance\.now|Date\.now|elapsed|duration|\btook)[^;\n]*\)\.toBeLessThan(OrEqual)?\(/i,
};

/** Returns the ways in which this code of a test races with a clock. */
const racesIn = (code: string) => Object.keys(RACES).filter((race) => RACES[race]!.test(code));

describe('the rule that tests must not race with a clock', () => {
  test.each([
    [`import { setTimeout as sleep } from 'node:timers/promises';`, ['waits for a fixed time']],
    ['await new Promise((resolve) => setTimeout(resolve, 50));', ['waits for a fixed time']],
    ['expect(performance.now() - startedAt).toBeLessThan(3_000);', ['has an upper bound for elapsed time']],
    ['expect(first!.durationMs).toBeLessThanOrEqual(1_900);', ['has an upper bound for elapsed time']],
    [`import { setImmediate } from 'node:timers/promises';`, []],
    ['expect(durationMs).toBeGreaterThan(100); expect(count).toBeLessThan(5);', []],
  ])('%s', (code, races) => {
    expect(racesIn(code)).toEqual(races);
  });
});

test('only tests of the tiers “timing” and “chaos” depend on real time', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(
    (file) => !/\.(timing|chaos)\.test\.ts$/.test(file) && file !== 'test/suite/clock.test.ts',
  );
  expect(files.length).toBeGreaterThan(500);
  const races = files.flatMap((file) =>
    racesIn(readFileSync(join(ROOT, file), 'utf8')).map((race) => `${file} ${race}`),
  );
  expect(races).toEqual([]);
});
