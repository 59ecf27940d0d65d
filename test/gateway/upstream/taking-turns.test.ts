import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { takingTurns } from '../../../src/gateway/upstream/taking-turns.ts';

const nextTurn = () => new Promise(setImmediate);

/** A connection on which chunks of 10 bytes are waiting, and which reads them as long as it isn't paused. */
function stage(waiting: number) {
  const read: string[] = [];
  let isPaused = false;
  let isReading = false;
  let given: Dispatcher.DispatchController | undefined;
  const handler = takingTurns(
    {
      onResponseData(controller, chunk) {
        given = controller;
        read.push(chunk.toString());
      },
      onResponseEnd: () => void read.push('end'),
      onResponseError: () => void read.push('error'),
    },
    40,
  );
  const controller = {
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      readOn();
    },
  } as Dispatcher.DispatchController;
  function readOn(): void {
    if (isReading) return;
    isReading = true;
    while (!isPaused && waiting-- > 0) handler.onResponseData!(controller, Buffer.from('0123456789'));
    isReading = false;
  }
  readOn();
  return {
    read,
    given: () => given!,
    add(count: number) {
      waiting = count;
      readOn();
    },
    end: () => handler.onResponseEnd!(controller, {}),
    fail: () => handler.onResponseError!(controller, new Error()),
    isPaused: () => isPaused,
  };
}

test('a response is passed on a part at a time, one in each turn of the event loop', async () => {
  const { read } = stage(10);
  expect(read).toHaveLength(4);
  await nextTurn();
  expect(read).toHaveLength(8);
  await nextTurn();
  expect(read).toHaveLength(10);
});

test('responses in tiny chunks share a turn of the event loop, and each of them passes on a chunk', async () => {
  await nextTurn();
  const passOn = (): number => {
    const read: Buffer[] = [];
    let isPaused = false;
    const handler = takingTurns({ onResponseData: (_controller, chunk) => void read.push(chunk) });
    const controller = {
      pause() {
        isPaused = true;
      },
      resume() {},
    } as Dispatcher.DispatchController;
    for (let sent = 0; sent < 10_000 && !isPaused; sent += 1) handler.onResponseData!(controller, Buffer.from('x'));
    return read.length;
  };
  const [first, second, third] = [passOn(), passOn(), passOn()];
  await nextTurn();
  expect([first, second, third]).toEqual([256, 1, 1]);
});

test('hundreds of responses take turns, a few of them in each turn of the event loop', async () => {
  await nextTurn();
  const names = Array.from({ length: 100 }, (_, index) => `${index}`);
  let read: string[] = [];
  const responses = names.map((name) => {
    const handler = takingTurns({ onResponseData: () => void read.push(name) }, 1);
    const passOn = () => handler.onResponseData!(controller, Buffer.from('x'));
    const controller = { pause() {}, resume: passOn } as Dispatcher.DispatchController;
    passOn();
    return { end: () => handler.onResponseEnd!(controller, {}) };
  });
  const turns: string[][] = [];
  for (let count = 0; count < 4; count += 1) {
    read = [];
    await nextTurn();
    turns.push(read);
  }
  for (const { end } of responses) end();
  const order = [...names, ...names];
  expect(turns).toEqual([order.slice(0, 32), order.slice(32, 64), order.slice(64, 96), order.slice(96, 128)]);
});

test('a handler that pauses and resumes gets no more in the same turn', async () => {
  const { read, given } = stage(10);
  given().pause();
  given().resume();
  expect(read).toHaveLength(4);
  await nextTurn();
  expect(read).toHaveLength(8);
});

test('a handler that has paused gets nothing more until it resumes', async () => {
  const { read, given } = stage(10);
  given().pause();
  await nextTurn();
  await nextTurn();
  expect(read).toHaveLength(4);
  given().resume();
  expect(read).toHaveLength(8);
});

test('a response that arrives slowly is never paused', async () => {
  const { read, add, isPaused } = stage(3);
  await nextTurn();
  add(3);
  expect(read).toHaveLength(6);
  expect(isPaused()).toBe(false);
});

test.each(['end', 'fail'] as const)('a response that is over isn’t resumed: %s', async (over) => {
  const { isPaused, ...response } = stage(4);
  response[over]();
  await nextTurn();
  expect(isPaused()).toBe(true);
});
