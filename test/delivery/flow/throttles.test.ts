import { describe, expect, test } from 'vitest';
import { createThrottles } from '../../../src/delivery/flow/circuits.ts';

const A = { destination: 'a', account: 'one' };

function createWithClock() {
  let time = 0;
  const throttles = createThrottles(() => time);
  return {
    ...throttles,
    wait: (seconds: number) => {
      time += seconds * 1000;
    },
  };
}

describe('a destination that asks for fewer requests', () => {
  test('gets no requests for as long as it asked, then one request', () => {
    const { onLimited, closedSeconds, slots, wait } = createWithClock();
    onLimited(A, 30);
    expect([closedSeconds('a'), slots().get('a')]).toEqual([30, 0]);
    wait(29);
    onLimited(A, 0.5);
    expect(closedSeconds('a')).toBe(1);
    wait(1);
    expect([closedSeconds('a'), slots().get('a')]).toEqual([0, 1]);
  });

  test('gets twice as many requests after each success, and starts over when it asks for fewer again', () => {
    const { onLimited, onHealthy, slots, wait } = createWithClock();
    onLimited(A, 1);
    wait(1);
    onHealthy('a');
    onHealthy('a');
    expect(slots().get('a')).toBe(4);
    onLimited(A, 1);
    wait(1);
    expect(slots().get('a')).toBe(1);
    for (let count = 0; count < 6; count++) onHealthy('a');
    expect(slots().has('a')).toBe(false);
  });

  test('does not count as recovered when requests that were already in flight succeed', () => {
    const { onLimited, onHealthy, slots, wait } = createWithClock();
    onLimited(A, 10);
    for (let count = 0; count < 10; count++) onHealthy('a');
    wait(10);
    expect(slots().get('a')).toBe(1);
  });

  test('is forgotten if it gets no requests for ten minutes', () => {
    const { onLimited, slots, wait } = createWithClock();
    onLimited(A, 1);
    wait(602);
    expect(slots().size).toBe(0);
  });
});

describe('an account with thousands of destinations that ask for fewer requests', () => {
  test('doesn’t end the wait of other accounts’ destinations, and loses the waits of its own that end first', () => {
    const { onLimited, closedSeconds, slots } = createWithClock();
    const limitOneOfMany = (count: number, seconds: number) =>
      onLimited({ destination: `many-${count}`, account: 'many' }, seconds);
    onLimited(A, 30);
    for (let count = 1; count <= 4_999; count++) limitOneOfMany(count, count <= 500 ? 60 : 3_600);
    expect([slots().size, closedSeconds('a'), closedSeconds('many-1')]).toEqual([5_000, 30, 60]);
    limitOneOfMany(5_000, 60);
    expect([slots().size, closedSeconds('a')]).toEqual([4_501, 30]);
    expect([500, 501, 5_000].map((count) => closedSeconds(`many-${count}`))).toEqual([0, 3_600, 60]);
    for (let count = 5_001; count <= 20_000; count++) limitOneOfMany(count, 3_600);
    expect(closedSeconds('a')).toBe(30);
    expect(slots().size).toBeLessThanOrEqual(5_000);
  });

  test('loses none when a destination that is already known asks again', () => {
    const { onLimited, slots } = createWithClock();
    for (let count = 1; count <= 5_000; count++) onLimited({ destination: `many-${count}`, account: 'many' }, 60);
    onLimited({ destination: 'many-1', account: 'many' }, 60);
    expect(slots().size).toBe(5_000);
  });
});
