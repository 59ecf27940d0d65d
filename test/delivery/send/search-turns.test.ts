import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitToSearch } from '../../../src/delivery/send/search-turns.ts';
import { scrubberOf } from '../../../src/secrets/redact.ts';

test('an account’s searches are prepared one at a time, and other work and other accounts’ searches run in between', async () => {
  let loops = 0;
  const prepare = async (accountId: string, secret: string) => {
    await waitToSearch([secret], accountId);
    scrubberOf([secret], accountId);
    return loops;
  };
  const many = Promise.all(Array.from({ length: 50 }, (_, index) => prepare('many', `secret-of-many-${index}`)));
  const one = prepare('one', 'secret-of-one');
  const count = async () => {
    for (; loops < 100; loops++) await setImmediate();
  };
  const [loopsOfMany, loopOfOne] = await Promise.all([many, one, count()]);
  expect(new Set(loopsOfMany).size).toBe(50);
  expect(loopOfOne).toBeLessThanOrEqual(loopsOfMany[1]!);
});

test('a search that is already prepared doesn’t wait', async () => {
  scrubberOf(['secret-of-one'], 'one');
  let isLater = false;
  queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => (isLater = true))));
  await waitToSearch(['secret-of-one'], 'one');
  expect(isLater).toBe(false);
});
