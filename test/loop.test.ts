import pino from 'pino';
import { expect, test } from 'vitest';
import { createLoop } from '../src/loop.ts';

const FAR_MILLISECONDS = 3_600_000;

function recorder() {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  return { log, lines };
}

test('a loop starts its first round immediately, and the next one when it is woken', async () => {
  const { log } = recorder();
  let rounds = 0;
  const loop = createLoop({
    task: 'count',
    intervalMilliseconds: FAR_MILLISECONDS,
    log,
    round: async () => void rounds++,
  });
  loop.start();
  await expect.poll(() => rounds).toBe(1);
  loop.wake();
  await expect.poll(() => rounds).toBe(2);
  await loop.stop();
});

test('a loop that is woken during a round runs another one right after it', async () => {
  const { log } = recorder();
  const first = Promise.withResolvers<void>();
  let rounds = 0;
  const loop = createLoop({
    task: 'count',
    intervalMilliseconds: FAR_MILLISECONDS,
    log,
    round: async () => {
      rounds++;
      await first.promise;
    },
  });
  loop.start();
  await expect.poll(() => rounds).toBe(1);
  loop.wake();
  first.resolve();
  await expect.poll(() => rounds).toBe(2);
  await loop.stop();
});

test('a round chooses when the next one starts', async () => {
  const { log } = recorder();
  let rounds = 0;
  const loop = createLoop({
    task: 'count',
    intervalMilliseconds: FAR_MILLISECONDS,
    log,
    round: async () => (++rounds < 3 ? 0 : FAR_MILLISECONDS),
  });
  loop.start();
  await expect.poll(() => rounds).toBe(3);
  await loop.stop();
  expect(rounds).toBe(3);
});

test('a round that throws is logged, and the loop goes on', async () => {
  const { log, lines } = recorder();
  let rounds = 0;
  const loop = createLoop({
    task: 'count sheep',
    intervalMilliseconds: 0,
    log,
    round: async () => {
      rounds++;
      if (rounds === 1) throw new Error('asleep');
    },
  });
  loop.start();
  await expect.poll(() => rounds).toBeGreaterThan(1);
  await loop.stop();
  expect(lines).toEqual(['could not count sheep; the next round will retry']);
});

test('a loop that is stopped finishes its round without complaining, and starts no other', async () => {
  const { log, lines } = recorder();
  let rounds = 0;
  const loop = createLoop({
    task: 'wait',
    intervalMilliseconds: 0,
    log,
    round: (signal) => {
      rounds++;
      return new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  loop.start();
  await loop.stop();
  expect({ rounds, lines }).toEqual({ rounds: 1, lines: [] });
});
