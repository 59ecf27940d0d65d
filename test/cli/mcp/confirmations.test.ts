import { expect, test } from 'vitest';
import { createConfirmations } from '../../../src/cli/mcp/confirmations.ts';

const replay = { projectId: 'proj_1', filter: {}, maxPerSecond: 50, total: 3 };

test('a confirmation works only once, and expires after ten minutes', () => {
  let now = 0;
  const confirmations = createConfirmations(() => now);
  const [first, second] = [confirmations.add(replay), confirmations.add(replay)];
  expect(first).not.toBe(second);
  now = 599_999;
  expect(confirmations.take(first)).toEqual(replay);
  expect(confirmations.take(first)).toBeUndefined();
  now = 600_000;
  expect(confirmations.take(second)).toBeUndefined();
});

test('only the newest twenty confirmations are kept', () => {
  const confirmations = createConfirmations();
  const all = Array.from({ length: 21 }, () => confirmations.add(replay));
  expect(all.map((each) => confirmations.take(each) !== undefined)).toEqual([false, ...Array(20).fill(true)]);
});
