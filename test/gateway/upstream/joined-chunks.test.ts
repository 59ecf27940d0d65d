import type { Dispatcher } from 'undici';
import { expect, test, vi } from 'vitest';
import { joiningChunks } from '../../../src/gateway/upstream/joined-chunks.ts';

/** A handler that notes what it gets, and a function that sends it chunks. */
function stage() {
  const seen: string[] = [];
  const controller = {} as Dispatcher.DispatchController;
  const handler = joiningChunks({
    onResponseData: (_controller, chunk) => void seen.push(chunk.toString()),
    onResponseEnd: () => void seen.push('end'),
    onResponseError: () => void seen.push('error'),
  });
  const send = (...texts: string[]) => {
    for (const text of texts) handler.onResponseData!(controller, Buffer.from(text));
  };
  return {
    seen,
    send,
    end: () => handler.onResponseEnd!(controller, {}),
    fail: () => handler.onResponseError!(controller, new Error()),
  };
}

test('small chunks that arrive at the same time become one, and nothing waits for more', async () => {
  const { seen, send, end } = stage();
  send('a', 'b', 'c');
  await Promise.resolve();
  expect(seen).toEqual(['abc']);
  send('d');
  await Promise.resolve();
  expect(seen).toEqual(['abc', 'd']);
  send('e', 'f');
  end();
  await Promise.resolve();
  expect(seen).toEqual(['abc', 'd', 'ef', 'end']);
});

test('thousands of chunks become a few, in their order', () => {
  const { seen, send, fail } = stage();
  for (let index = 0; index < 10_000; index++) send(String(index % 10));
  fail();
  expect(seen.pop()).toBe('error');
  expect(seen.map(({ length }) => length)).toEqual([4_096, 4_096, 1_808]);
  expect(seen.join('')).toBe('0123456789'.repeat(1_000));
});

test('a large chunk is passed on immediately, after the small ones before it', () => {
  const { seen, send } = stage();
  send('x'.repeat(10_000));
  send('a', 'y'.repeat(5_000));
  expect(seen.map(({ length }) => length)).toEqual([10_000, 5_001]);
});

test('an error from the handler aborts the response', async () => {
  const error = new Error('too much');
  const abort = vi.fn();
  const handler = joiningChunks({
    onResponseData() {
      throw error;
    },
  });
  handler.onResponseData!({ abort } as unknown as Dispatcher.DispatchController, Buffer.from('a'));
  await Promise.resolve();
  expect(abort).toHaveBeenCalledExactlyOnceWith(error);
});
