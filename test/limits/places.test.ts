import { expect, test } from 'vitest';
import { createPlaces } from '../../src/limits/places.ts';

const told = { texts: { account: 'Wait for one of yours.', process: 'Wait for others.' }, retryAfterSeconds: 10 };

test('an account can use only a limited number of slots', () => {
  const places = createPlaces({ perAccount: 2, perProcess: 10 }, told);
  const release = places.take('alice');
  places.take('alice');
  expect(() => places.take('alice')).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', retryAfterSeconds: 10, message: 'Wait for one of yours.' }),
  );
  places.take('bob');
  release();
  places.take('alice');
});

test('a process has only a limited number of slots, and releasing one twice frees only one', () => {
  const places = createPlaces({ perAccount: 2, perProcess: 2 }, told);
  const release = places.take('alice');
  places.take('bob');
  expect(() => places.take('carol')).toThrow(
    expect.objectContaining({ code: 'UNAVAILABLE', retryAfterSeconds: 10, message: 'Wait for others.' }),
  );
  release();
  release();
  places.take('carol');
  expect(() => places.take('dave')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
});

test('the last slots of a process are only for accounts that have none', () => {
  const places = createPlaces({ perAccount: 2, perProcess: 4, forNewAccounts: 2 }, told);
  for (const account of ['alice', 'alice', 'bob']) places.take(account);
  expect(() => places.take('bob')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  places.take('carol');
  expect(() => places.take('dave')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
});
