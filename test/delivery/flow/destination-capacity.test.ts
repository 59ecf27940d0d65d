import { describe, expect, test } from 'vitest';
import { createDestinationCapacity } from '../../../src/delivery/flow/capacity.ts';

const of = (destination: string, attemptCount = 0) => ({ destination, attemptCount });

const limits = { maxInFlight: 1_000, perDestination: 50, maxPerDestination: 500 };

describe("a destination's available capacity", () => {
  test('is half of the slots for a single destination', () => {
    const destinations = createDestinationCapacity(limits);
    expect(destinations.share()).toBe(500);
    for (let index = 0; index < 400; index++) destinations.take(of('a'));
    expect(destinations.capacity().get('a')).toBe(100);
  });

  test('never exceeds the maximum per destination', () => {
    expect(createDestinationCapacity({ ...limits, maxPerDestination: 120 }).share()).toBe(120);
  });

  test('is an equal share of the slots among busy destinations, with a guaranteed minimum', () => {
    const destinations = createDestinationCapacity(limits);
    for (const id of 'abcdefghi') destinations.take(of(id));
    expect(destinations.share()).toBe(100);
    for (let index = 0; index < 100; index++) destinations.take(of(`more${index}`));
    expect(destinations.share()).toBe(50);
  });

  test('is zero, never negative, when the share shrinks below the number in flight', () => {
    const destinations = createDestinationCapacity(limits);
    for (let index = 0; index < 500; index++) destinations.take(of('a'));
    destinations.take(of('b'));
    expect(destinations.capacity().get('a')).toBe(0);
  });

  test('is the lowest of all limits', () => {
    const slots = (entries: [string, number][]) => ({ slots: () => new Map(entries) });
    const restrictions = [
      slots([['a', 5]]),
      slots([
        ['a', 2],
        ['b', 0],
        ['c', -4],
      ]),
    ];
    const destinations = createDestinationCapacity(limits, restrictions);
    expect(Object.fromEntries(destinations.capacity())).toEqual({ a: 2, b: 0, c: -4 });
    destinations.take(of('a'));
    destinations.take(of('c'));
    expect(Object.fromEntries(destinations.capacity())).toEqual({ a: 1, b: 0, c: -3 });
  });

  test('follows the rate limit of a paced destination regardless of the number in flight', () => {
    const paces = {
      slots: () =>
        new Map([
          ['a', { requests: 5, deliveriesPerRequest: 1 }],
          ['b', { requests: 5, deliveriesPerRequest: 1 }],
          ['c', { requests: 0, deliveriesPerRequest: 1 }],
        ]),
    };
    const circuits = { slots: () => new Map([['c', -4]]) };
    const destinations = createDestinationCapacity({ ...limits, maxPerDestination: 12 }, [circuits], paces);
    for (let index = 0; index < 6; index++) destinations.take(of('a'));
    for (let index = 0; index < 10; index++) destinations.take(of('b'));
    expect(Object.fromEntries(destinations.capacity())).toEqual({ a: 5, b: 2, c: -4 });
  });

  test('is large enough to fill a request, even beyond the usual share, but not beyond other limits', () => {
    const paced = { requests: 1, deliveriesPerRequest: 500 };
    const ids = ['a', 'b', 'c'];
    const paces = { slots: () => new Map(ids.map((id) => [id, id === 'b' ? { ...paced, requests: 0 } : paced])) };
    const throttles = { slots: () => new Map([['c', 1]]) };
    const destinations = createDestinationCapacity({ ...limits, maxPerDestination: 12 }, [throttles], paces);
    expect(Object.fromEntries(destinations.capacity())).toEqual({ a: 500, b: 0, c: 1 });
  });

  test('reserves nothing for first attempts when there is only one slot', () => {
    expect(createDestinationCapacity({ ...limits, maxInFlight: 1 }).retryCapacity()).toBe(1);
  });

  test("reserves a quarter of an account's share for first attempts", () => {
    const destinations = createDestinationCapacity(limits);
    expect(destinations.retryCapacity()).toBe(562);
    for (let index = 0; index < 600; index++) destinations.take(of(`a${index}`, 1));
    expect(destinations.retryCapacity()).toBe(0);
    for (let index = 0; index < 100; index++) destinations.take(of('b'));
    for (let index = 0; index < 60; index++) destinations.free(of(`a${index}`, 1));
    expect(destinations.retryCapacity()).toBe(22);
  });

  test('does not count deliveries that are no longer in flight', () => {
    const destinations = createDestinationCapacity(limits);
    destinations.take(of('a'));
    destinations.free(of('a'));
    expect(destinations.capacity().size).toBe(0);
    expect(destinations.share()).toBe(500);
  });
});
