import { expect, test } from 'vitest';
import { type Backlog, createBacklogs } from '../../src/limits/backlog.ts';
import { createPrefetch } from '../../src/live/prefetch.ts';

/**
 * Small limits, and streams that record how they end. `left` is the number of bytes that a dropped stream can't
 * discard.
 */
function start() {
  const ends: string[] = [];
  const reasons: string[] = [];
  const limits = { streamBytes: 100, accountBytes: 250, processBytes: 400 };
  const backlogs = createBacklogs({ limits, onDrop: (reason) => reasons.push(reason) });
  function open(account: string, name: string, left = 0): Backlog {
    return backlogs.open(account, {
      drop() {
        ends.push(`${name} dropped`);
        return left;
      },
      cut: () => ends.push(`${name} cut`),
    });
  }
  return { backlogs, open, ends, reasons };
}

test('held bytes count until they are released, and releasing them twice has no effect', () => {
  const { backlogs, open } = start();
  const stream = open('a', 'a1');
  const release = stream.reserve(60);
  const releaseOther = stream.reserve(30);
  expect(backlogs.bytes()).toBe(90);
  release();
  release();
  expect(backlogs.bytes()).toBe(30);
  releaseOther();
  expect(backlogs.bytes()).toBe(0);
});

test('a stream over its limit is dropped, and its bytes no longer count', () => {
  const { backlogs, open, ends, reasons } = start();
  const stream = open('a', 'a1');
  const release = stream.reserve(120);
  expect(ends).toEqual([]);
  stream.reserve(1);
  expect(ends).toEqual(['a1 dropped']);
  expect(reasons).toEqual(['stream']);
  release();
  stream.reserve(50);
  expect(backlogs.bytes()).toBe(0);
});

test('an account over its limit loses the stream with the most bytes', () => {
  const { open, ends, reasons } = start();
  open('a', 'a1').reserve(90);
  open('a', 'a2').reserve(100);
  open('b', 'b1').reserve(100);
  open('a', 'a3').reserve(80);
  expect(ends).toEqual(['a2 dropped']);
  expect(reasons).toEqual(['account']);
});

test('a process over its limit drops a stream of the account with the most bytes, no matter which account came last', () => {
  const { open, ends, reasons } = start();
  for (const name of ['a1', 'a2', 'a3']) open('a', name).reserve(80);
  open('b', 'b1').reserve(100);
  open('c', 'c1').reserve(90);
  expect(ends).toEqual(['a1 dropped']);
  expect(reasons).toEqual(['process']);
});

test('a dropped stream is cut off if its unsent bytes leave too little room for others', () => {
  const { backlogs, open, ends } = start();
  open('a', 'a1', 100).reserve(100);
  open('a', 'a2').reserve(90);
  open('a', 'a3').reserve(80);
  expect(ends).toEqual(['a1 dropped', 'a1 cut']);
  expect(backlogs.bytes()).toBe(170);
});

test('a stream that has ended leaves nothing behind', () => {
  const { backlogs, open } = start();
  const stream = open('stranger', 'a1');
  stream.reserve(50);
  stream.belongTo('a');
  expect(backlogs.bytes()).toBe(50);
  stream.close();
  expect(backlogs.bytes()).toBe(0);
  stream.reserve(50);
  expect(backlogs.bytes()).toBe(0);
});

test('rows are prefetched by size, and one by one if the backlog is crowded', () => {
  let isCrowded = false;
  let held = 0;
  const prefetch = createPrefetch({
    isCrowded: () => isCrowded,
    reserve(bytes) {
      held += bytes;
      return () => {
        held -= bytes;
      };
    },
  });
  expect(prefetch.rowCount()).toBeLessThan(10);
  const release = prefetch.reserveRows([{ data: { text: 'x'.repeat(10_000) } }, { data: null }]);
  expect(held).toBeGreaterThan(10_000);
  expect(prefetch.rowCount()).toBe(3);
  release();
  expect(held).toBe(0);
  prefetch.reserveRows([{ id: 'small' }]);
  expect(prefetch.rowCount()).toBe(200);
  isCrowded = true;
  expect(prefetch.rowCount()).toBe(1);
});
