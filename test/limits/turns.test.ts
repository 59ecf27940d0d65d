import { expect, test } from 'vitest';
import { createTurns, type TurnOptions } from '../../src/limits/turns.ts';

/** Longer than any test. */
const FOREVER = 2 ** 31 - 1;

/** Starts steps that run until they are ended, and lists the ones that have started. */
function openSteps(options: TurnOptions) {
  const inTurn = createTurns(options);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const results = new Map<string, Promise<string>>();
  return {
    started,
    results,
    start(accountId: string, ...names: string[]) {
      for (const name of names) {
        const { promise, resolve } = Promise.withResolvers<string>();
        ends.set(name, () => resolve(name));
        const step = () => {
          started.push(name);
          return promise;
        };
        results.set(name, inTurn(accountId, step));
      }
    },
    end: (name: string) => ends.get(name)!(),
  };
}

test('at most two steps run at the same time, and one of each account', async () => {
  const { started, start, end, results } = openSteps({ turnMilliseconds: FOREVER });
  start('a', 'a1', 'a2', 'a3');
  start('b', 'b1');
  start('c', 'c1');
  await expect.poll(() => started).toEqual(['a1', 'b1']);
  end('a1');
  await expect.poll(() => started).toEqual(['a1', 'b1', 'c1']);
  expect(await results.get('a1')).toBe('a1');
  end('b1');
  await expect.poll(() => started).toEqual(['a1', 'b1', 'c1', 'a2']);
});

test('a step that waits for too long gives up its turn, and still returns its result', async () => {
  const { started, start, end, results } = openSteps({ turnMilliseconds: 1 });
  start('a', 'a1');
  start('b', 'b1');
  start('c', 'c1', 'c2');
  await expect.poll(() => started).toEqual(['a1', 'b1', 'c1', 'c2']);
  end('a1');
  expect(await results.get('a1')).toBe('a1');
});

test('an error of a step reaches its caller, and the next step runs', async () => {
  const inTurn = createTurns({ stepsAtOnce: 1, turnMilliseconds: FOREVER });
  const failing = inTurn('a', () => {
    throw new Error('unreadable');
  });
  const next = inTurn('b', () => 'read');
  await expect(failing).rejects.toThrow('unreadable');
  expect(await next).toBe('read');
});

test('other work is done between steps that wait for nothing', async () => {
  const inTurn = createTurns({ stepsAtOnce: 1 });
  const order: string[] = [];
  const steps = ['a', 'b', 'c'].map((account) => inTurn(account, () => void order.push(account)));
  const work = () => {
    order.push('other');
    if (order.filter((name) => name !== 'other').length < steps.length) setImmediate(work);
  };
  setImmediate(work);
  await Promise.all(steps);
  expect(order.join(' ')).toMatch(/a.* other .*b.* other .*c/);
});
