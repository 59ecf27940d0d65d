import { describe, expect, test } from 'vitest';
import { createParkedTurns } from '../../../src/delivery/queue/parked-turns.ts';

/** Destinations of an account: `a1`, `a2`, and so on. */
const of = (account: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ destination: `${account}${index + 1}`, account }));

const request = (changes: { capacity?: Record<string, number>; accounts?: Record<string, number> } = {}) => ({
  limit: 10,
  retryLimit: 10,
  leaseSeconds: 30,
  defaultCapacity: 5,
  capacity: new Map(Object.entries(changes.capacity ?? {})),
  accountCapacity: { known: new Map(Object.entries(changes.accounts ?? {})), others: 5 },
});

function turnsOf(...parked: ReturnType<typeof of>[]) {
  const turns = createParkedTurns();
  turns.add(parked.flat());
  return turns;
}

describe('the turns of parked destinations', () => {
  test('go around the accounts, no matter how many destinations each has', () => {
    const turns = turnsOf(of('a', 1_000), of('b', 1), of('c', 2));
    expect(turns.next(request(), 4)).toEqual(['a1', 'b1', 'c1', 'a2']);
    expect(turns.next(request(), 4)).toEqual(['b1', 'c2', 'a3', 'c1']);
  });

  test('go around the destinations of an account', () => {
    const turns = turnsOf(of('a', 5));
    expect([turns.next(request(), 2), turns.next(request(), 2), turns.next(request(), 2)]).toEqual([
      ['a1', 'a2'],
      ['a3', 'a4'],
      ['a5', 'a1'],
    ]);
  });

  test('visit each destination once', () => {
    expect(turnsOf(of('a', 2), of('b', 1)).next(request(), 64)).toEqual(['a1', 'b1', 'a2']);
  });

  test('leave out accounts and destinations without capacity', () => {
    const turns = turnsOf(of('a', 3), of('b', 3), of('c', 3));
    const capacity = { b1: 0, b2: -3, c3: 0 };
    expect(turns.next(request({ capacity, accounts: { a: 0 } }), 64)).toEqual(['b3', 'c1', 'c2']);
  });

  test('get past any number of destinations without capacity', () => {
    const turns = turnsOf(of('a', 200));
    const capacity = Object.fromEntries(of('a', 199).map(({ destination }) => [destination, 0]));
    const rounds = Array.from({ length: 4 }, () => turns.next(request({ capacity }), 64));
    expect(rounds).toEqual([[], [], [], ['a200']]);
  });

  test('end with the visit that finds nothing left', () => {
    const turns = turnsOf(of('a', 2), of('b', 1));
    turns.keep(new Set(['a2']));
    expect(turns.next(request(), 64)).toEqual(['a2']);
  });

  test('follow a destination to another account, and need a known account', () => {
    const turns = turnsOf(of('a', 2));
    turns.add([
      { destination: 'a1', account: 'b' },
      { destination: 'a2', account: null },
      { destination: 'x', account: null },
    ]);
    expect(turns.next(request({ accounts: { a: 0 } }), 64)).toEqual(['a1']);
    expect(turns.next(request(), 64)).toEqual(['a2', 'a1']);
  });
});
