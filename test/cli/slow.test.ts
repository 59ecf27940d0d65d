import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { noteIfSlow, waitingFor } from '../../src/cli/slow.ts';

let printed: string[];

beforeEach(() => {
  vi.useFakeTimers();
  printed = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a command says what it waits for after two seconds, once', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const result = noteIfSlow(promise, 'Waiting…');
  await vi.advanceTimersByTimeAsync(1_999);
  expect(printed).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(printed).toEqual(['Waiting…\n']);
  resolve(1);
  expect(await result).toBe(1);
});

test.each(['resolves', 'rejects'])('it says nothing if the work %s before that', async (how) => {
  const work = how === 'resolves' ? Promise.resolve(1) : Promise.reject(new Error('no'));
  await noteIfSlow(work, 'Waiting…').catch((error: Error) => expect(error.message).toBe('no'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(printed).toEqual([]);
});

test('of a URL, only the origin is shown', () => {
  expect(waitingFor('https://user:secret@pay.example:8443/path?key=secret')).toBe(
    'Waiting for a response from https://pay.example:8443…',
  );
});
