import { expect, test } from 'vitest';
import { createSizedCache } from '../../src/secrets/sized-cache.ts';

test('a full half evicts the least recently used entries, and keeps only entries that fit', () => {
  const made: string[] = [];
  const cached = createSizedCache<{ bytes: number }>({ maxBytes: 20 * 1_024, bytesOf: (_key, { bytes }) => bytes });
  const get = (key: string, bytes = 3 * 1_024) =>
    cached(key, () => {
      made.push(key);
      return { bytes };
    });

  // Each entry takes 3 KB, plus 1 KB of overhead.
  expect(get('a')).toBe(get('a'));
  get('b');
  get('a');
  get('c');
  expect(made).toEqual(['a', 'b', 'c']);
  get('a');
  get('b');
  expect(made).toEqual(['a', 'b', 'c', 'b']);

  expect(get('huge', 100_000)).toEqual({ bytes: 100_000 });
  get('a');
  get('b');
  get('huge');
  expect(made.slice(4)).toEqual(['huge', 'huge']);
});

test('large entries never evict small ones, and small ones never evict large ones', () => {
  const made: string[] = [];
  const cached = createSizedCache<{ bytes: number }>({ maxBytes: 512 * 1_024, bytesOf: (_key, { bytes }) => bytes });
  const get = (key: string, bytes: number) =>
    cached(key, () => {
      made.push(key);
      return { bytes };
    });

  get('small', 31 * 1_024);
  for (let index = 0; index < 100; index++) get(`large ${index}`, 100 * 1_024);
  for (let index = 0; index < 7; index++) get(`other ${index}`, 31 * 1_024);
  made.length = 0;
  get('small', 31 * 1_024);
  get('large 99', 100 * 1_024);
  expect(made).toEqual([]);

  for (let index = 0; index < 100; index++) get(`small ${index}`, 31 * 1_024);
  made.length = 0;
  get('large 99', 100 * 1_024);
  get('small', 31 * 1_024);
  expect(made).toEqual(['small']);
});

test('in a full half, an owner of more than a quarter of it evicts only its own entries', () => {
  const made: string[] = [];
  const cached = createSizedCache<{ bytes: number }>({ maxBytes: 8_192 * 1_024, bytesOf: (_key, { bytes }) => bytes });
  const get = (owner: string, key: string, bytes: number) =>
    cached(
      `${owner} ${key}`,
      () => {
        made.push(`${owner} ${key}`);
        return { bytes };
      },
      owner,
    );

  get('alice', 'small', 1_024);
  get('alice', 'large', 100 * 1_024);
  for (let index = 0; index < 1_000; index++) {
    get('mallory', `small ${index}`, 30 * 1_024);
    get('mallory', `large ${index}`, 100 * 1_024);
  }
  made.length = 0;
  get('alice', 'small', 1_024);
  get('alice', 'large', 100 * 1_024);
  for (let index = 991; index < 1_000; index++) get('mallory', `large ${index}`, 100 * 1_024);
  expect(made).toEqual([]);
  get('mallory', 'large 0', 100 * 1_024);
  expect(made).toEqual(['mallory large 0']);

  made.length = 0;
  get('mallory', 'huge', 100_000 * 1_024);
  get('alice', 'large', 100 * 1_024);
  expect(made).toEqual(['mallory huge']);
});
