import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFollower, type Follower } from '../../src/live/follower.ts';
import type { Progress } from '../../src/live/progress.ts';
import { subscribeToRows } from '../../src/live/subscription.ts';
import { pace } from '../support/pace.ts';
import { createSimulatedTable, type SimulatedRow } from './simulated-table.ts';

type Item = { progress: Progress; row: SimulatedRow };

/** Creates a table with one follower for all subscriptions to it, as in a process. */
function createWorld(pageSize = 3, started: Promise<void> = Promise.resolve()) {
  const table = createSimulatedTable(pageSize);
  const counts = { queries: 0, loads: 0, subscriptions: 0 };
  const listeners = new Set<() => void>();
  const shared = {
    async query(request: Parameters<typeof table.query>[0]) {
      counts.queries += 1;
      return table.query(request);
    },
    async load(rows: Parameters<typeof table.load>[0]) {
      counts.loads += 1;
      return table.load(rows);
    },
    toItem: (row: SimulatedRow, progress: Progress): Item => ({ progress, row }),
    isIgnorable: ({ isIgnorable }: SimulatedRow) => isIgnorable,
  };
  let follower: Follower<SimulatedRow, Item> | undefined;
  const findFollower = () => {
    follower ??= createFollower<SimulatedRow, Item>(
      {
        ...shared,
        async present() {
          await started;
          return table.seeAll();
        },
        subscribe(wake) {
          listeners.add(wake);
          return () => listeners.delete(wake);
        },
        pollMilliseconds: 60_000,
      },
      () => {
        follower = undefined;
      },
    );
    return follower;
  };

  return {
    table,
    counts,
    /** Returns how many followers are waiting for hints. */
    followerCount: () => listeners.size,
    hint() {
      for (const listener of [...listeners]) listener();
    },
    /** @param options.whenToLook what the subscription's own reads wait for. */
    subscribe(start: Progress, options: { matches?: (row: SimulatedRow) => boolean; whenToLook?: Promise<void> } = {}) {
      counts.subscriptions += 1;
      return subscribeToRows<SimulatedRow, Item>({
        ...shared,
        start,
        findFollower,
        retryMilliseconds: 1,
        async query(request) {
          await options.whenToLook;
          return shared.query(request);
        },
        matches: options.matches ?? (() => true),
        onEnd() {
          counts.subscriptions -= 1;
        },
      });
    },
  };
}

type World = ReturnType<typeof createWorld>;

/** @param open how many transactions are already open. */
function commitRow({ table }: World, open = 0): void {
  table.begin(0);
  table.insert(open);
  table.commit(open);
  table.tick(1);
}

const stateOf = ({ row }: Item) => `${row.id} ${row.version}`;

/** Returns the next items. */
async function take(items: AsyncIterator<Item, void>, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) taken.push(stateOf((await items.next()).value as Item));
  return taken;
}

/** Collects what a subscription shows in the background. */
function collect(items: AsyncIterator<Item, void>, pauseMilliseconds = 0) {
  const states: string[] = [];
  const ended = (async () => {
    for (;;) {
      const { done, value } = await items.next();
      if (done) return;
      states.push(stateOf(value));
      if (pauseMilliseconds > 0) await pace(pauseMilliseconds);
    }
  })();
  return { states, ended };
}

const action = fc.record({
  kind: fc.constantFrom('begin', 'insert', 'insert', 'insert', 'update', 'update', 'claim', 'commit', 'commit'),
  value: fc.nat(5_000),
});
const scenario = fc.record({
  actions: fc.array(action, { minLength: 60, maxLength: 150 }),
  /** The number of actions before each subscription starts, and how slowly its client reads. */
  subscriptions: fc.array(fc.record({ after: fc.nat(60), pauseMilliseconds: fc.constantFrom(0, 0, 3) }), {
    minLength: 2,
    maxLength: 4,
  }),
  pauses: fc.array(fc.nat(3), { minLength: 200, maxLength: 200 }),
});

describe('subscriptions that share a follower', () => {
  test('never show an older version of a row after a newer one while they join', async () => {
    const world = createWorld();
    const { table } = world;
    const change = () => {
      table.begin(0);
      table.update(1);
      table.commit(1);
      table.tick(1);
    };
    // While this transaction stays open, the reader can't tell which later transactions it has seen.
    table.begin(0);
    table.tick(1);
    commitRow(world, 1);
    const start = table.seeAll();
    const others = collect(world.subscribe(start));
    await expect.poll(world.followerCount).toBe(1);
    const isTimeToLook = Promise.withResolvers<void>();
    const joining = collect(world.subscribe(start, { whenToLook: isTimeToLook.promise }));
    change();
    world.hint();
    await expect.poll(() => others.states.length).toBe(1);
    change();
    isTimeToLook.resolve();
    await expect.poll(() => joining.states.length).toBeGreaterThan(0);
    world.hint();
    await expect.poll(() => others.states.length).toBe(2);
    commitRow(world, 1);
    world.hint();
    await expect.poll(() => others.states.length).toBe(3);
    await expect.poll(() => joining.states.at(-1)).toBe(others.states[2]);
    expect(joining.states).toEqual(others.states.slice(1));
  });

  test('each show the last state of every committed row, and no state twice, no matter in what order rows are committed', async () => {
    // Each scenario waits for real timers, so all of them run at the same time.
    const scenarios = fc.sample(scenario, { numRuns: 80, seed: 7 });
    await Promise.all(
      scenarios.map(async ({ actions, subscriptions, pauses }, index) => {
        const world = createWorld();
        const { table } = world;
        const start = table.seeAll();
        const running: { items: ReturnType<World['subscribe']>; states: string[] }[] = [];
        for (const [step, { kind, value }] of actions.entries()) {
          for (const { after, pauseMilliseconds } of subscriptions) {
            if (after !== step) continue;
            const items = world.subscribe(start);
            running.push({ items, states: collect(items, pauseMilliseconds).states });
          }
          table[kind](value);
          world.hint();
          await pace(pauses[step]!);
        }
        table.commitAll();
        const wanted = [...table.rows.values()]
          .filter(({ isIgnorable }) => !isIgnorable)
          .map(({ id, version }) => `${id} ${version}`);
        for (const { items, states } of running) {
          await expect
            .poll(
              () => {
                world.hint();
                return wanted.filter((state) => !states.includes(state));
              },
              { message: `scenario ${index}` },
            )
            .toEqual([]);
          expect(states, `scenario ${index}`).toEqual([...new Set(states)]);
          await items.return!();
        }
        expect(world.counts.subscriptions).toBe(0);
        expect(world.followerCount()).toBe(0);
      }),
    );
  });

  test('read a new row only once, no matter how many subscriptions there are', async () => {
    const world = createWorld();
    const start = world.table.seeAll();
    const running = Array.from({ length: 50 }, () => world.subscribe(start));
    const collected = running.map((items) => collect(items));
    await expect.poll(() => world.followerCount()).toBe(1);
    await expect.poll(() => world.counts.queries).toBeGreaterThanOrEqual(51);
    const before = { ...world.counts };
    commitRow(world);
    world.hint();
    await expect.poll(() => collected.every(({ states }) => states.length === 1)).toBe(true);
    // This is the read that finds the row, and at most one more.
    expect(world.counts.queries - before.queries).toBeLessThanOrEqual(2);
    expect(world.counts.loads - before.loads).toBe(1);
    await Promise.all(running.map((items) => items.return!()));
  });

  test('get the same item, so its result can be shared', async () => {
    const world = createWorld();
    const start = world.table.seeAll();
    const [one, two] = [world.subscribe(start), world.subscribe(start)];
    const pending = [one.next(), two.next()];
    await expect.poll(() => world.counts.queries).toBeGreaterThanOrEqual(3);
    commitRow(world);
    world.hint();
    const [first, second] = await Promise.all(pending);
    expect(first!.value).toBe(second!.value);
    await Promise.all([one.return!(), two.return!()]);
  });

  test('each show only the rows that match their filter', async () => {
    const world = createWorld();
    const wanted = new Set<string>();
    const items = world.subscribe(world.table.seeAll(), { matches: ({ id }) => wanted.has(id) });
    const { states } = collect(items);
    await expect.poll(() => world.followerCount()).toBe(1);
    commitRow(world);
    const { queries } = world.counts;
    world.hint();
    await expect.poll(() => world.counts.queries).toBeGreaterThan(queries);
    commitRow(world);
    const last = [...world.table.rows.keys()].at(-1)!;
    wanted.add(last);
    world.hint();
    await expect.poll(() => states).toEqual([`${last} 1`]);
    await items.return!();
  });

  test('a subscription that is slower than the writers reads on its own until it has caught up', async () => {
    const world = createWorld(50);
    const start = world.table.seeAll();
    const slow = world.subscribe(start);
    const fast = collect(world.subscribe(start));
    const first = slow.next();
    await expect.poll(() => world.counts.queries).toBeGreaterThanOrEqual(3);
    for (let index = 0; index < 300; index++) {
      commitRow(world);
      world.hint();
      if (index % 20 === 0) await pace(10);
    }
    await expect.poll(() => fast.states.length).toBe(300);
    const queriesBefore = world.counts.queries;
    const seen = [stateOf((await first).value as Item), ...(await take(slow, 299))];
    expect(seen).toEqual(fast.states);
    expect(world.counts.queries).toBeGreaterThan(queriesBefore);
    commitRow(world);
    world.hint();
    expect(await take(slow, 1)).toEqual([`${[...world.table.rows.keys()].at(-1)} 1`]);
    await slow.return!();
  });

  test('a subscription that falls behind the follower repeats nothing that it read before the follower did', async () => {
    const world = createWorld(200);
    const { table } = world;
    collect(world.subscribe(table.seeAll()));
    await expect.poll(() => world.followerCount()).toBe(1);
    const start = table.seeAll();
    table.begin(0);
    for (let index = 0; index < 64; index++) table.insert(index);
    table.tick(10);
    table.begin(0);
    table.insert(1);
    table.commit(1);
    const slow = world.subscribe(start);
    const first = await take(slow, 1);
    const next = slow.next();
    const queriesBefore = world.counts.queries;
    table.commit(0);
    world.hint();
    await expect.poll(() => world.counts.queries).toBeGreaterThan(queriesBefore);
    const states = [...first, stateOf((await next).value as Item), ...(await take(slow, 63))];
    const { states: rest } = collect(slow);
    commitRow(world);
    world.hint();
    await expect.poll(() => rest.length).toBeGreaterThan(0);
    expect([...states, ...rest]).toEqual([...new Set([...states, ...rest])]);
    await slow.return!();
  });

  test('a subscription that falls behind among late rows misses none of them', async () => {
    const world = createWorld(200);
    const { table } = world;
    const fast = collect(world.subscribe(table.seeAll()));
    await expect.poll(() => world.followerCount()).toBe(1);
    for (let index = 0; index < 80; index++) {
      table.begin(0);
      table.insert(index);
    }
    table.tick(10);
    const slow = world.subscribe(table.seeAll());
    const first = slow.next();
    commitRow(world, 80);
    world.hint();
    const states = [stateOf((await first).value as Item)];
    const next = slow.next();
    await expect.poll(() => fast.states.length).toBe(1);
    table.commitAll();
    world.hint();
    await expect.poll(() => fast.states.length).toBe(81);
    states.push(stateOf((await next).value as Item), ...(await take(slow, 79)));
    expect(states.toSorted()).toEqual(fast.states.toSorted());
    await slow.return!();
  });

  test('a row is not repeated if it is claimed between the two reads of a new subscription', async () => {
    const world = createWorld();
    const other = collect(world.subscribe(world.table.seeAll()));
    await expect.poll(() => world.followerCount()).toBe(1);
    commitRow(world);
    const items = world.subscribe(world.table.beginning());
    const states = await take(items, 1);
    const rest = collect(items);
    world.table.begin(0);
    world.table.claim(0);
    world.table.commit(0);
    world.hint();
    await expect.poll(() => other.states).toEqual(states);
    commitRow(world);
    world.hint();
    await expect.poll(() => rest.states.length).toBeGreaterThan(0);
    expect(rest.states).toEqual([`${[...world.table.rows.keys()].at(-1)} 1`]);
    await items.return!();
  });
});

describe('a follower', () => {
  test('misses nothing that is committed while it starts', async () => {
    const started = Promise.withResolvers<void>();
    const world = createWorld(3, started.promise);
    const { states } = collect(world.subscribe(world.table.seeAll()));
    // By then, the follower waits to be started.
    await turn();
    commitRow(world);
    started.resolve();
    await expect.poll(() => states.length).toBe(1);
  });

  test('ends when the last subscription ends, and a new one starts with the next subscription', async () => {
    const world = createWorld();
    for (let round = 0; round < 2; round++) {
      const items = world.subscribe(world.table.seeAll());
      const { states } = collect(items);
      await expect.poll(() => world.followerCount()).toBe(1);
      commitRow(world);
      world.hint();
      await expect.poll(() => states.length).toBe(1);
      await items.return!();
      expect(world.followerCount()).toBe(0);
    }
    expect(world.counts.subscriptions).toBe(0);
  });
});
