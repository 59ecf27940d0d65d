import { expect, test } from 'vitest';
import { createShares } from '../../../src/delivery/flow/capacity.ts';

/** The capacity of an account with that many deliveries in flight, and of a new account. */
function capacityOf(count: number, freeSlots: number): [number, number] {
  const shares = createShares({ maxInFlight: 2_048, maxPerOrigin: 256 });
  for (let index = 0; index < count; index++) shares.take({ account: 'a', origin: null });
  const { known, others } = shares.accountCapacity(freeSlots);
  return [known.get('a')!, others];
}

test('an account may have three times as many deliveries as there are free slots, except for the last 32', () => {
  expect(capacityOf(1, 2_047)).toEqual([1_511, 1_512]);
  expect(capacityOf(1_512, 536)[0]).toBe(-1);
});

test.each([
  ['one delivery', 1, 32, [1, 2]],
  ['two deliveries', 2, 32, [0, 2]],
  ['three deliveries', 3, 32, [-1, 2]],
  ['one delivery if only one slot is free', 1, 1, [1, 1]],
  ['one delivery if no slot is free', 1, 0, [0, 0]],
] as const)('the last slots are for accounts with fewer than two: an account with %s', (_what, count, free, slots) => {
  expect(capacityOf(count, free)).toEqual(slots);
});
