import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { boundLookup } from '../../src/egress/lookup.ts';

/** All lookups that have started and haven't ended. */
let running: Map<string, (addresses: string[]) => void>;
/** Every name that was looked up, in order. */
let asked: string[];

const FEW = ['192.0.2.1'];
const THOUSANDS = Array.from({ length: 4_000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);

const open = () =>
  boundLookup((hostname) => {
    asked.push(hostname);
    return new Promise<string[]>((resolve) => running.set(hostname, resolve));
  }, 5_000);

async function end(hostname: string, addresses: string[]): Promise<void> {
  running.get(hostname)!(addresses);
  running.delete(hostname);
  await vi.advanceTimersByTimeAsync(0);
}

const outcomeOf = (lookup: Promise<string[]>) =>
  lookup.then(
    ({ length }) => length,
    ({ errorClass }) => errorClass,
  );

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  running = new Map();
  asked = [];
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('names in the same domain', () => {
  test('are looked up twenty at a time, and those in other domains at the same time', async () => {
    const lookup = open();
    const names = Array.from({ length: 30 }, (_, index) => `h${index}.shop.example`);
    const lookups = [...names, 'hooks.other.example'].map(lookup);
    expect(asked).toEqual([...names.slice(0, 20), 'hooks.other.example']);
    await end('h3.shop.example', FEW);
    expect(asked.at(-1)).toBe('h20.shop.example');
    while (running.size > 0) for (const name of running.keys()) await end(name, FEW);
    expect(asked).toHaveLength(31);
    expect(new Set(await Promise.all(lookups.map(outcomeOf)))).toEqual(new Set([1]));
  });

  test.each([
    ['a.b.shop.example', 'c.shop.example', 20],
    ['shop.example', 'a.shop.example', 20],
    ['a.one.co.uk', 'a.two.co.uk', 21],
    ['a.one.com.au', 'b.one.com.au', 20],
    ['a.co.example', 'b.co.example', 20],
    ['a.one.vercel.app', 'a.two.vercel.app', 21],
    ['a.one.eu.org', 'a.two.eu.org', 21],
  ])('%s and %s: of 20 and one more, %i are looked up at the same time', async (first, second, count) => {
    const lookup = open();
    const lookups = Array.from({ length: 20 }, (_, index) => `h${index}.${first}`)
      .concat(second)
      .map(lookup);
    expect(asked).toHaveLength(count);
    while (running.size > 0) for (const name of running.keys()) await end(name, FEW);
    await Promise.all(lookups);
  });
});

describe('a domain with a name that has thousands of addresses', () => {
  test('gets one lookup at a time, and has to wait after each one with as many addresses', async () => {
    const lookup = open();
    const first = outcomeOf(lookup('h0.evil.example'));
    await end('h0.evil.example', THOUSANDS);
    expect(await first).toBe(100);
    const others = ['h1.evil.example', 'h2.evil.example', 'quick.other.example'].map((name) => outcomeOf(lookup(name)));
    expect([...running.keys()]).toEqual(['quick.other.example']);
    await end('quick.other.example', FEW);
    await vi.advanceTimersByTimeAsync(999);
    expect([...running.keys()]).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect([...running.keys()]).toEqual(['h1.evil.example']);
    await end('h1.evil.example', FEW);
    expect([...running.keys()]).toEqual(['h2.evil.example']);
    await end('h2.evil.example', FEW);
    expect(await Promise.all(others)).toEqual([1, 1, 1]);
  });

  test('is like any other an hour later', async () => {
    const lookup = open();
    const first = lookup('h0.evil.example');
    await end('h0.evil.example', THOUSANDS);
    await first;
    await vi.advanceTimersByTimeAsync(3_600_000);
    const others = ['h1.evil.example', 'h2.evil.example'].map(lookup);
    expect([...running.keys()]).toEqual(['h1.evil.example', 'h2.evil.example']);
    for (const name of [...running.keys()]) await end(name, FEW);
    await Promise.all(others);
  });

  test('forgets lookups that nobody waits for anymore', async () => {
    const lookup = open();
    const first = lookup('h0.evil.example');
    await end('h0.evil.example', THOUSANDS);
    await first;
    const others = Array.from({ length: 100 }, (_, index) => outcomeOf(lookup(`h${index + 1}.evil.example`)));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(new Set(await Promise.all(others))).toEqual(new Set(['dns_error']));
    await end('h1.evil.example', FEW);
    expect(running.size).toBe(0);
    expect(asked).toHaveLength(2);
  });
});
