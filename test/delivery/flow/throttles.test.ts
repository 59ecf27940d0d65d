import { describe, expect, test } from 'vitest';
import { createThrottles } from '../../../src/delivery/flow/throttles.ts';

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
  test('gets nothing for as long as it asked for, then one request', () => {
    const { onLimited, closedSeconds, slots, wait } = createWithClock();
    onLimited('a', 30);
    expect([closedSeconds('a'), slots().get('a')]).toEqual([30, 0]);
    wait(29);
    onLimited('a', 0.5);
    expect(closedSeconds('a')).toBe(1);
    wait(1);
    expect([closedSeconds('a'), slots().get('a')]).toEqual([0, 1]);
  });

  test('gets twice as many after each success, and starts over when it asks again', () => {
    const { onLimited, onHealthy, slots, wait } = createWithClock();
    onLimited('a', 1);
    wait(1);
    onHealthy('a');
    onHealthy('a');
    expect(slots().get('a')).toBe(4);
    onLimited('a', 1);
    wait(1);
    expect(slots().get('a')).toBe(1);
    for (let count = 0; count < 6; count++) onHealthy('a');
    expect(slots().has('a')).toBe(false);
  });

  test('does not count as recovered when requests that were already in flight succeed', () => {
    const { onLimited, onHealthy, slots, wait } = createWithClock();
    onLimited('a', 10);
    for (let count = 0; count < 10; count++) onHealthy('a');
    wait(10);
    expect(slots().get('a')).toBe(1);
  });

  test('is forgotten if it gets nothing for ten minutes', () => {
    const { onLimited, slots, wait } = createWithClock();
    onLimited('a', 1);
    wait(602);
    expect(slots().size).toBe(0);
  });
});
