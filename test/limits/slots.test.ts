import { expect, test } from 'vitest';
import { createSlots } from '../../src/limits/slots.ts';

const told = { texts: { account: 'Wait for one of yours.', process: 'Wait for others.' }, retryAfterSeconds: 10 };

test('an account can use only a limited number of slots', () => {
  const slots = createSlots({ perAccount: 2, perProcess: 10 }, told);
  const release = slots.take('alice');
  slots.take('alice');
  expect(() => slots.take('alice')).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', retryAfterSeconds: 10, message: 'Wait for one of yours.' }),
  );
  slots.take('bob');
  release();
  slots.take('alice');
});

test('a process has only a limited number of slots, and releasing one twice frees only one', () => {
  const slots = createSlots({ perAccount: 2, perProcess: 2 }, told);
  const release = slots.take('alice');
  slots.take('bob');
  expect(() => slots.take('carol')).toThrow(
    expect.objectContaining({ code: 'UNAVAILABLE', retryAfterSeconds: 10, message: 'Wait for others.' }),
  );
  release();
  release();
  slots.take('carol');
  expect(() => slots.take('dave')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
});

test('the last slots of a process are only for accounts that have none', () => {
  const slots = createSlots({ perAccount: 2, perProcess: 4, forNewAccounts: 2 }, told);
  for (const account of ['alice', 'alice', 'bob']) slots.take(account);
  expect(() => slots.take('bob')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  slots.take('carol');
  expect(() => slots.take('dave')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
});
