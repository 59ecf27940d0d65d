import { describe, expect, test } from 'vitest';
import { createCircuits } from '../../../src/delivery/flow/circuits.ts';

function openCircuits() {
  let time = 0;
  const circuits = createCircuits(() => time);
  return {
    ...circuits,
    wait: (seconds: number) => {
      time += seconds * 1000;
    },
    fail: (times = 1) => {
      for (let count = 0; count < times; count++) circuits.onFailure('a');
    },
  };
}

describe('a circuit', () => {
  test('opens after five failures in a row', () => {
    const circuits = openCircuits();
    circuits.fail(4);
    circuits.onHealthy('a');
    circuits.fail(4);
    expect(circuits.isBroken('a')).toBe(false);
    expect(circuits.slots().size).toBe(0);
    circuits.fail();
    expect(circuits.isBroken('a')).toBe(true);
    expect(circuits.openSeconds('a')).toBe(5);
    expect(circuits.slots().get('a')).toBeLessThan(0);
  });

  test('half-opens after a while and lets one delivery through', () => {
    const circuits = openCircuits();
    circuits.fail(5);
    circuits.wait(5);
    expect(circuits.openSeconds('a')).toBe(0);
    expect(circuits.slots().get('a')).toBe(1);
  });

  test('closes after a success and starts over', () => {
    const circuits = openCircuits();
    circuits.fail(5);
    circuits.onHealthy('a');
    expect(circuits.slots().size).toBe(0);
    circuits.fail(5);
    expect(circuits.openSeconds('a')).toBe(5);
  });

  test('opens for twice as long after each further failure, up to a minute', () => {
    const circuits = openCircuits();
    circuits.fail(5);
    const times = Array.from({ length: 5 }, () => {
      circuits.wait(circuits.openSeconds('a'));
      circuits.fail();
      return circuits.openSeconds('a');
    });
    expect(times).toEqual([10, 20, 40, 60, 60]);
  });

  test('does not count deliveries that were in flight when it opened', () => {
    const circuits = openCircuits();
    circuits.fail(60);
    expect(circuits.openSeconds('a')).toBe(5);
  });

  test('stays open while thousands of other destinations fail, as long as it is used', () => {
    const circuits = openCircuits();
    circuits.fail(5);
    for (let count = 1; count < 5_000; count++) circuits.onFailure(`other-${count}`);
    expect(circuits.isBroken('a')).toBe(true);
    circuits.onFailure('other-5000');
    expect(circuits.isBroken('a')).toBe(true);
  });

  test('can be opened by another process, for a minute at most', () => {
    const circuits = openCircuits();
    circuits.learn('a', -3);
    expect(circuits.isBroken('a')).toBe(false);
    circuits.learn('a', 3_600);
    expect(circuits.openSeconds('a')).toBe(60);
  });
});
