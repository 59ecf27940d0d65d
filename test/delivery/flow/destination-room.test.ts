import { describe, expect, it } from 'vitest';
import { createDestinationRoom } from '../../../src/delivery/flow/destination-room.ts';

const of = (destination: string, attemptCount = 0) => ({ destination, attemptCount });

const limits = { maxInFlight: 1_000, perDestination: 50, maxPerDestination: 500 };

describe('createDestinationRoom', () => {
  it('lets a lone destination have half of the slots', () => {
    const destinations = createDestinationRoom(limits);
    expect(destinations.share()).toBe(500);
    for (let index = 0; index < 400; index++) destinations.take(of('a'));
    expect(destinations.room().get('a')).toBe(100);
  });

  it('never lets one have more than the most', () => {
    expect(createDestinationRoom({ ...limits, maxPerDestination: 120 }).share()).toBe(120);
  });

  it('shares the slots equally among the busy, and grants each its minimum', () => {
    const destinations = createDestinationRoom(limits);
    for (const id of 'abcdefghi') destinations.take(of(id));
    expect(destinations.share()).toBe(100);
    for (let index = 0; index < 100; index++) destinations.take(of(`more${index}`));
    expect(destinations.share()).toBe(50);
  });

  it('has no room, never less, where the share has shrunk below what is in flight', () => {
    const destinations = createDestinationRoom(limits);
    for (let index = 0; index < 500; index++) destinations.take(of('a'));
    destinations.take(of('b'));
    expect(destinations.room().get('a')).toBe(0);
  });

  it('grants a restricted destination the least of what its restrictions allow', () => {
    const slots = (entries: [string, number][]) => ({ slots: () => new Map(entries) });
    const restrictions = [
      slots([['a', 5]]),
      slots([
        ['a', 2],
        ['b', 0],
        ['c', -4],
      ]),
    ];
    const destinations = createDestinationRoom(limits, restrictions);
    expect(Object.fromEntries(destinations.room())).toEqual({ a: 2, b: 0, c: -4 });
    destinations.take(of('a'));
    destinations.take(of('c'));
    expect(Object.fromEntries(destinations.room())).toEqual({ a: 1, b: 0, c: -3 });
  });

  it('gives a destination that is paced as many more, whatever it has in flight', () => {
    const paces = {
      slots: () =>
        new Map([
          ['a', 5],
          ['b', 5],
          ['c', 0],
        ]),
    };
    const circuits = { slots: () => new Map([['c', -4]]) };
    const destinations = createDestinationRoom({ ...limits, maxPerDestination: 12 }, [circuits], paces);
    for (let index = 0; index < 6; index++) destinations.take(of('a'));
    for (let index = 0; index < 10; index++) destinations.take(of('b'));
    expect(Object.fromEntries(destinations.room())).toEqual({ a: 5, b: 2, c: -4 });
  });

  it('keeps none for first tries where there is but one, which retries need too', () => {
    expect(createDestinationRoom({ ...limits, maxInFlight: 1 }).retryRoom()).toBe(1);
  });

  it('keeps a quarter of what one account may have for first tries', () => {
    const destinations = createDestinationRoom(limits);
    expect(destinations.retryRoom()).toBe(562);
    for (let index = 0; index < 600; index++) destinations.take(of(`a${index}`, 1));
    expect(destinations.retryRoom()).toBe(0);
    for (let index = 0; index < 100; index++) destinations.take(of('b'));
    for (let index = 0; index < 60; index++) destinations.free(of(`a${index}`, 1));
    expect(destinations.retryRoom()).toBe(22);
  });

  it('forgets what is no longer in flight', () => {
    const destinations = createDestinationRoom(limits);
    destinations.take(of('a'));
    destinations.free(of('a'));
    expect(destinations.room().size).toBe(0);
    expect(destinations.share()).toBe(500);
  });
});
