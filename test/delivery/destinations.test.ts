import { describe, expect, it } from 'vitest';
import { createDestinations } from '../../src/delivery/destinations.ts';

const limits = { maxInFlight: 1_000, perDestination: 50, maxPerDestination: 500 };

describe('createDestinations', () => {
  it('lets a lone destination have half of the slots', () => {
    const destinations = createDestinations(limits);
    expect(destinations.share()).toBe(500);
    for (let index = 0; index < 400; index++) destinations.take('a');
    expect(destinations.room().get('a')).toBe(100);
  });

  it('never lets one have more than the most', () => {
    expect(createDestinations({ ...limits, maxPerDestination: 120 }).share()).toBe(120);
  });

  it('shares the slots equally among the busy, and grants each its minimum', () => {
    const destinations = createDestinations(limits);
    for (const id of 'abcdefghi') destinations.take(id);
    expect(destinations.share()).toBe(100);
    for (let index = 0; index < 100; index++) destinations.take(`more${index}`);
    expect(destinations.share()).toBe(50);
  });

  it('has no room, never less, where the share has shrunk below what is in flight', () => {
    const destinations = createDestinations(limits);
    for (let index = 0; index < 500; index++) destinations.take('a');
    destinations.take('b');
    expect(destinations.room().get('a')).toBe(0);
  });

  it('leaves a few slots to a destination that only fails, until it succeeds', () => {
    const destinations = createDestinations(limits);
    for (let index = 0; index < 5; index++) destinations.onFailure('a');
    expect(destinations.isFailing('a')).toBe(true);
    expect(destinations.room().get('a')).toBe(4);
    destinations.onHealthy('a');
    expect(destinations.isFailing('a')).toBe(false);
    expect(destinations.room().get('a')).toBeUndefined();
  });

  it('forgets what is no longer in flight', () => {
    const destinations = createDestinations(limits);
    destinations.take('a');
    destinations.free('a');
    expect(destinations.room().size).toBe(0);
    expect(destinations.share()).toBe(500);
  });
});
