import { expect, test } from 'vitest';
import { createSlots, type SlotLimits } from '../../src/limits/slots.ts';

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

/** Slots with a clock of their own. `dropped`: the names of the operations that lost theirs. */
function openSlots(limits: SlotLimits) {
  let now = 0;
  const dropped: string[] = [];
  const slots = createSlots(limits, told, () => now);
  return {
    dropped,
    pass(seconds: number) {
      now += 1_000 * seconds;
    },
    take: (account: string, name = account) => slots.take(account, () => dropped.push(name)),
    isFull(account: string) {
      try {
        slots.take(account)();
        return false;
      } catch (error) {
        expect(error).toMatchObject({ code: 'UNAVAILABLE' });
        return true;
      }
    },
  };
}

test('if a process has no slots left, the account that has used them for the longest time loses its oldest one', () => {
  const { take, pass, dropped } = openSlots({ perAccount: 2, perProcess: 3 });
  take('alice', 'the first');
  pass(1);
  take('alice', 'the second');
  take('bob');
  pass(6);
  take('carol');
  expect(dropped).toEqual(['the first']);
  pass(6);
  // Now the account with two slots has only one of them.
  take('dave');
  expect(dropped).toEqual(['the first', 'the second']);
});

test('a slot is lost only to an account that has used them clearly less, and not to one that has another', () => {
  const { take, pass, dropped, isFull } = openSlots({ perAccount: 2, perProcess: 2 });
  take('alice');
  take('bob');
  pass(5);
  expect(isFull('carol')).toBe(true);
  pass(1);
  take('carol');
  expect(dropped).toEqual(['alice']);
  pass(20);
  expect(isFull('carol')).toBe(true);
  expect(isFull('alice')).toBe(false);
  expect(dropped).toEqual(['alice', 'bob']);
});

test('accounts that start new operations all the time don’t keep others from theirs', () => {
  const { take, pass, dropped, isFull } = openSlots({ perAccount: 1, perProcess: 2 });
  for (let second = 0; second < 20; second += 2) {
    const releases = ['alice', 'bob'].map((account) => take(account));
    pass(2);
    for (const release of releases) release();
  }
  for (const account of ['alice', 'bob']) take(account);
  take('carol');
  expect(dropped).toHaveLength(1);
  // Those who lost their slots have used them for longer than the others.
  expect(isFull(dropped[0]!)).toBe(true);
  pass(3_600);
  expect(isFull('erin')).toBe(false);
});

test('a slot that was given away is not released twice', () => {
  const { take, pass, isFull } = openSlots({ perAccount: 1, perProcess: 1 });
  const release = take('alice');
  pass(6);
  take('bob');
  release();
  expect(isFull('carol')).toBe(true);
});
