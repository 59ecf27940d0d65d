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

/** Helpers that wait on purpose, and why nothing that a test asserts depends on how long that takes. */
const PACERS: Readonly<Record<string, string>> = {
  'test/support/pace.ts': 'spreads actions over time, and paces loops that wait for a condition',
  'test/egress/support.ts':
    'makes a fake server slow, and tests check only that the service notices at least that much',
  'test/console/browser.ts': 'gives up on an idle browser, and the caller checks the page again until it is complete',
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

describe('only tests of the tiers “timing” and “chaos” depend on real time', () => {
  const files = globSync('test/**/*.ts', { cwd: ROOT }).filter(
    (file) => !/\.(timing|chaos)\.test\.ts$/.test(file) && file !== 'test/suite/clock.test.ts',
  );
  const races = files.flatMap((file) =>
    racesIn(readFileSync(join(ROOT, file), 'utf8')).map((race) => ({ file, race })),
  );

  test('no test or helper races with a clock, except for the helpers that are listed above', () => {
    expect(files.length).toBeGreaterThan(600);
    expect(races.filter(({ file, race }) => !(file in PACERS && race === 'waits for a fixed time'))).toEqual([]);
  });

  test('each listed helper still waits', () => {
    const listed = Object.keys(PACERS).sort();
    expect([...new Set(races.map(({ file }) => file))].filter((file) => file in PACERS).sort()).toEqual(listed);
  });
});
