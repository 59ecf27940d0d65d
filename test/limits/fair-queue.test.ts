import { expect, test } from 'vitest';
import { createFairQueue } from '../../src/limits/fair-queue.ts';

/** Starts jobs that run until they are ended, and lists the ones that have started. */
function openJobs(limits: Parameters<typeof createFairQueue>[0]) {
  const fairQueue = createFairQueue(limits);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const settle = () => new Promise(setImmediate);
  return {
    started,
    async start(accountId: string, ...names: string[]) {
      for (const name of names) {
        const { promise, resolve } = Promise.withResolvers<void>();
        ends.set(name, resolve);
        void fairQueue.run(accountId, () => {
          started.push(name);
          return promise;
        });
      }
      await settle();
    },
    async end(name: string) {
      ends.get(name)!();
      await settle();
    },
  };
}

test('accounts take turns, no matter how many jobs one of them has', async () => {
  const fairQueue = createFairQueue({ perAccount: 1, perProcess: 1 });
  const order: string[] = [];
  const take = (account: string, name: string) => fairQueue.run(account, async () => void order.push(name));
  await Promise.all([
    take('a', 'a1'),
    take('a', 'a2'),
    take('a', 'a3'),
    take('b', 'b1'),
    take('a', 'a4'),
    take('b', 'b2'),
  ]);
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
});

test("an account never uses the other accounts' slots", async () => {
  const { started, start, end } = openJobs({ perAccount: 2, perProcess: 4 });
  await start('a', 'a1', 'a2', 'a3', 'a4', 'a5');
  expect(started).toEqual(['a1', 'a2']);
  await start('b', 'b1');
  await start('c', 'c1', 'c2');
  expect(started.splice(0)).toEqual(['a1', 'a2', 'b1', 'c1']);
  await end('a1');
  expect(started.splice(0)).toEqual(['c2']);
  await end('b1');
  await end('a2');
  expect(started.splice(0)).toEqual(['a3', 'a4']);
  await end('a4');
  expect(started).toEqual(['a5']);
});

test('beyond the slots for several jobs of an account, each account has one, without waiting for the others', async () => {
  const { started, start, end } = openJobs({ perAccount: 3, perProcess: Number.POSITIVE_INFINITY, severalEach: 4 });
  await start('a', 'a1', 'a2', 'a3', 'a4');
  await start('b', 'b1', 'b2');
  expect(started.splice(0)).toEqual(['a1', 'a2', 'a3', 'b1']);
  await start('c', 'c1', 'c2');
  expect(started.splice(0)).toEqual(['c1']);
  await end('c1');
  expect(started.splice(0)).toEqual(['c2']);
  await end('a1');
  expect(started.splice(0)).toEqual([]);
  await end('c2');
  expect(started.splice(0)).toEqual(['b2']);
  await end('a2');
  expect(started.splice(0)).toEqual(['a4']);
});

test('a failed job frees its slot', async () => {
  const fairQueue = createFairQueue({ perAccount: 1, perProcess: 1 });
  await expect(fairQueue.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await fairQueue.run('a', async () => 'yes')).toBe('yes');
});
