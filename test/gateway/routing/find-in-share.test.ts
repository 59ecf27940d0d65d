import { expect, test } from 'vitest';
import { findInShare } from '../../../src/gateway/routing/route-table.ts';

/** Finds a route, and returns whether that was done with a share of the connections. */
async function usesShare(state: { isKnown: boolean; isPaced: boolean }, whileWaiting: Partial<typeof state> = {}) {
  let isInShare = false;
  const table = { version: () => (state.isKnown ? 1 : undefined), isPaced: () => state.isPaced };
  const lookUp = async <R>(find: () => Promise<R>) => {
    Object.assign(state, whileWaiting);
    isInShare = true;
    const found = await find();
    isInShare = false;
    return found;
  };
  return findInShare(table, 'proj_1', async () => isInShare, lookUp);
}

test('routes are looked up with a share of the database connections', async () => {
  expect(await usesShare({ isKnown: false, isPaced: false })).toBe(true);
});

test.each([
  ['are in memory', { isKnown: true, isPaced: false }],
  ['wait for other reads of their account', { isKnown: false, isPaced: true }],
])(
  'no share is needed for routes that %s, also if that changes while a request waits for one',
  async (_what, state) => {
    expect(await usesShare(state)).toBe(false);
    expect(await usesShare({ isKnown: false, isPaced: false }, state)).toBe(false);
  },
);

test('a path that has no route is looked up once', async () => {
  let lookups = 0;
  const table = { version: () => undefined, isPaced: () => false };
  const find = async () => {
    lookups += 1;
    return undefined;
  };
  expect(await findInShare(table, 'proj_1', find, (run) => run())).toBeUndefined();
  expect(lookups).toBe(1);
});
