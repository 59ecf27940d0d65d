import { expect, test } from 'vitest';
import { createSlices } from '../../src/limits/slices.ts';

/** Starts pieces that take a millisecond each, and returns how many of them ran in each turn of the event loop. */
async function piecesPerTurn(count: number, sliceMilliseconds: number): Promise<number[]> {
  let milliseconds = 0;
  const inSlices = createSlices({ sliceMilliseconds, now: () => milliseconds });
  const counts: number[] = [];
  let counted = 0;
  const countTurn = () => {
    counts.push(milliseconds - counted);
    counted = milliseconds;
    if (counted < count) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const piece = () => {
    milliseconds += 1;
  };
  await Promise.all(Array.from({ length: count }, () => inSlices('a', piece)));
  return counts;
}

test('after each slice, the process does other work', async () => {
  const counts = await piecesPerTurn(100, 10);
  expect(Math.max(...counts)).toBe(10);
});

test('accounts take turns once the first slice is over', async () => {
  const started: string[] = [];
  const inSlices = createSlices({ sliceMilliseconds: 1, now: () => started.length });
  const start = (accountId: string, name: string) => inSlices(accountId, () => void started.push(name));
  await Promise.all([start('a', 'a1'), start('a', 'a2'), start('a', 'a3'), start('b', 'b1'), start('c', 'c1')]);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
});

test('a piece that waits doesn’t keep others from starting, and its result reaches its caller', async () => {
  const inSlices = createSlices();
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = inSlices('a', () => promise);
  expect(await inSlices('a', () => 'second')).toBe('second');
  resolve('first');
  expect(await waiting).toBe('first');
});

test('an error of a piece reaches its caller, and the next piece runs', async () => {
  const inSlices = createSlices();
  const failing = inSlices('a', () => {
    throw new Error('unreadable');
  });
  const next = inSlices('a', () => 'read');
  await expect(failing).rejects.toThrow('unreadable');
  expect(await next).toBe('read');
});
