import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { wait } from '../../packages/sdk/src/wait.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a wait', () => {
  test.each([60, 30 * 24 * 3600, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'of %d s, as a server can ask for, doesn’t end immediately',
    async (seconds) => {
      let isOver = false;
      void wait(seconds, undefined).then(() => (isOver = true));
      await vi.advanceTimersByTimeAsync(59_000);
      expect(isOver).toBe(false);
    },
  );

  test('of more than a day ends after a day', async () => {
    let isOver = false;
    void wait(30 * 24 * 3600, undefined).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(24 * 3600 * 1000);
    expect(isOver).toBe(true);
  });
});
