import { expect, test } from 'vitest';
import { createUsage } from '../../../src/delivery/flow/usage.ts';

function openUsage() {
  let now = 0;
  const usage = createUsage(() => now);
  return {
    add: (account: string, count: number) => {
      for (let index = 0; index < count; index++) usage.add({ account });
    },
    current: usage.current,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test('nothing is known before the first claim', () => {
  expect(openUsage().current()).toBeUndefined();
});

test('a count halves every second', () => {
  const usage = openUsage();
  usage.add('a', 80);
  usage.pass(1_000);
  usage.add('a', 10);
  usage.pass(1_000);
  expect(usage.current()).toEqual({ amounts: new Map([['a', 25]]), heaviest: 'a' });
});

test('the heaviest account is the one with the most lately, not in all', () => {
  const usage = openUsage();
  usage.add('a', 80);
  usage.pass(3_000);
  usage.add('b', 20);
  expect(usage.current()).toEqual({ amounts: new Map(Object.entries({ a: 10, b: 20 })), heaviest: 'b' });
});

test('an account is forgotten when almost nothing is left of its count', () => {
  const usage = openUsage();
  usage.add('a', 64);
  usage.pass(7_000);
  expect(usage.current()?.amounts.get('a')).toBe(0.5);
  usage.pass(1);
  expect(usage.current()).toBeUndefined();
});

test('a count is at least the number of deliveries in flight, which fill slots long after they were claimed', () => {
  const usage = openUsage();
  usage.add('slow', 80);
  usage.pass(20_000);
  usage.add('fast', 30);
  const amounts = new Map(Object.entries({ slow: 80, fast: 30 }));
  expect(usage.current(new Map(Object.entries({ slow: 80, fast: 2 })))).toEqual({ amounts, heaviest: 'slow' });
});
