import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstIdAt, millisecondsOfId, newId } from '../../src/ids.ts';
import { decodeCursor, encodeCursor } from '../../src/live/cursor.ts';
import { createPrefetch, type Prefetch } from '../../src/live/prefetch.ts';
import type { Changes, ChangesRequest, Progress } from '../../src/live/progress.ts';
import { readChanges } from '../../src/live/read-changes.ts';
import { type TailOptions, tail } from '../../src/live/tail.ts';
import { pace } from '../support/pace.ts';
import { createSimulatedTable, type SimulatedRow } from './simulated-table.ts';

type Item = { cursor: string; row: SimulatedRow };
const present = (row: SimulatedRow, progress: Progress): Item => ({ cursor: encodeCursor(progress), row });

/** Prefetches at most two items at a time. */
const SHORT: Prefetch = { ...createPrefetch(), rowCount: () => 2, positionCount: () => 2 };

const NOTHING: Changes = {
  late: [],
  isLateFull: false,
  behind: [],
  isFull: false,
  horizon: 1n,
  newest: 1n,
  nowMilliseconds: 0,
};

const options = (overrides: Partial<TailOptions<SimulatedRow, Item>>): TailOptions<SimulatedRow, Item> => ({
  start: createSimulatedTable(10).beginning(),
  query: async () => NOTHING,
  load: async () => new Map(),
  present,
  subscribe: () => () => {},
  pollMilliseconds: 60_000,
  ...overrides,
});

/** Follows a table until the test calls `return`. */
function startTail(overrides: Partial<TailOptions<SimulatedRow, Item>>) {
  const stop = new AbortController();
  const items = tail(options(overrides), stop.signal);
  return {
    next: () => items.next(),
    return() {
      stop.abort();
      return items.return();
    },
  };
}

describe('a tail', () => {
  const choosing = (kind: 'insert' | 'update' | 'claim' | 'commit', weight: number) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), value: fc.nat() }),
  });
  const action = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('begin' as const), value: fc.integer({ min: -5000, max: 5000 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('tick' as const), value: fc.integer({ min: 0, max: 100 }) }),
    },
    choosing('insert', 8),
    choosing('update', 4),
    choosing('claim', 1),
    choosing('commit', 2),
  );
  /** The number of actions before each database read, and the number of items until the client is cut off. */
  const pace = fc.record({ actionsPerRead: fc.nat(6), itemsUntilCut: fc.option(fc.nat(4)) });

  // Only a client that is cut off in the middle of a transaction's rows gets rows again.
  test('shows every committed row and each of its states once, no matter how often the client is cut off', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { minLength: 60, maxLength: 200 }),
        fc.infiniteStream(pace),
        async (actions, paces) => {
          const table = createSimulatedTable(3);
          const pending = [...actions];
          const act = (count: number) => {
            for (const { kind, value } of pending.splice(0, count)) table[kind](value);
          };
          const shown = new Set<string>();
          const again: string[] = [];
          let cursor = encodeCursor(table.beginning());
          let progress = decodeCursor('Delivery', cursor);

          /** Reads once, until the client is cut off. Returns whether there were items. */
          async function readPage(): Promise<boolean> {
            const { actionsPerRead, itemsUntilCut } = paces.next().value!;
            const reader = {
              query(request: ChangesRequest) {
                act(actionsPerRead);
                return table.query(request);
              },
              load(rows: Parameters<typeof table.load>[0]) {
                act(actionsPerRead);
                return table.load(rows);
              },
            };
            const items = readChanges(options({ ...reader, prefetch: SHORT }), reader, progress);
            for (let count = 0; ; count++) {
              if (count === itemsUntilCut) {
                progress = decodeCursor('Delivery', cursor);
                // The service never changes the position of a cursor that it created.
                expect(encodeCursor(progress)).toBe(cursor);
                return true;
              }
              const { done, value } = await items.next();
              if (done) {
                progress = value.reached;
                return value.isFull || count > 0;
              }
              cursor = value.cursor;
              const state = `${value.row.id} ${value.row.version}`;
              if (shown.has(state) && table.sizeOf(value.row.transaction) === 1) again.push(state);
              shown.add(state);
            }
          }

          while (pending.length > 0) {
            act(1);
            await readPage();
          }
          table.commitAll();
          while (await readPage());

          expect(again).toEqual([]);
          // A claimed delivery is about to change again, and is shown when it does.
          const missing = [...table.rows.values()].filter(
            ({ id, version, isIgnorable }) => !isIgnorable && !shown.has(`${id} ${version}`),
          );
          expect(missing).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('shows no state of a row twice while the client stays connected', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 60, maxLength: 200 }), async (actions) => {
        const table = createSimulatedTable(3);
        const shown: string[] = [];
        let progress = table.beginning();
        for (const { kind, value } of actions) {
          table[kind](value);
          const items = readChanges({ present, prefetch: SHORT }, table, progress);
          let next = await items.next();
          for (; !next.done; next = await items.next()) shown.push(`${next.value.row.id} ${next.value.row.version}`);
          progress = next.value.reached;
        }
        expect(shown).toEqual([...new Set(shown)]);
      }),
      { numRuns: 300 },
    );
  });

  /** Returns at most `most` rows of one read, and the progress after the last of them. */
  async function changesOf(table: ReturnType<typeof createSimulatedTable>, from: Progress, most = Infinity) {
    const items = readChanges({ present: (row: SimulatedRow, reached) => ({ id: row.id, reached }) }, table, from);
    const ids: string[] = [];
    let progress = from;
    while (ids.length < most) {
      const { done, value } = await items.next();
      progress = value.reached;
      if (done) break;
      ids.push(value.id);
    }
    return { ids, progress };
  }

  function commitRow(table: ReturnType<typeof createSimulatedTable>): void {
    table.begin(0);
    table.insert(1);
    table.commit(1);
  }

  test('repeats nothing while a transaction stays open for a long time', async () => {
    const table = createSimulatedTable(10);
    let progress = table.beginning();
    table.begin(0);
    commitRow(table);
    const shown: string[] = [];
    for (let minute = 0; minute < 5; minute++) {
      const { ids, progress: reached } = await changesOf(table, progress);
      shown.push(...ids);
      // Continues alternately from memory and from a cursor.
      progress = minute % 2 === 0 ? reached : decodeCursor('Delivery', encodeCursor(reached));
      table.tick(60_000);
    }
    expect(shown).toEqual([...table.rows.keys()]);
  });

  test('makes progress with frequent cutoffs, even after more transactions were in doubt than a cursor can hold', async () => {
    const table = createSimulatedTable(1_000);
    const start = table.beginning();
    table.begin(0);
    for (let index = 0; index < 700; index++) commitRow(table);
    let { progress } = await changesOf(table, start);
    table.commit(0);
    const again: string[] = [];
    for (let cuts = 0; cuts < 25; cuts++) {
      const part = await changesOf(table, decodeCursor('Delivery', encodeCursor(progress)), 10);
      progress = part.progress;
      again.push(...part.ids);
    }
    // Only the rows that the cursor could not hold are repeated, each of them once.
    expect(again).toEqual([...table.rows.keys()].slice(0, 200));
  });

  test('shows a row that is committed long after rows with a later time', async () => {
    const table = createSimulatedTable(10);
    const items = startTail({ ...table, start: table.beginning(), pollMilliseconds: 10 });
    table.begin(0);
    table.insert(0);
    table.tick(20_000);
    table.begin(0);
    table.insert(1);
    table.commit(1);
    const first = await items.next();
    table.commit(0);
    const second = await items.next();
    expect(second.value!.row.milliseconds).toBeLessThan(first.value!.row.milliseconds);
    await items.return();
  });

  test.each(['in memory', 'in a cursor'])(
    'shows rows whose commits took minutes, no matter which becomes visible first, with progress %s',
    async (place) => {
      const table = createSimulatedTable(10);
      const keep = (progress: Progress) =>
        place === 'in a cursor' ? decodeCursor('Delivery', encodeCursor(progress)) : progress;
      let { progress } = await changesOf(table, table.beginning());
      // No transaction can commit for three minutes, while the table is read regularly.
      for (let minute = 0; minute < 3; minute++) {
        table.begin(0);
        table.insert(minute);
        for (let reads = 0; reads < 3; reads++) {
          progress = keep((await changesOf(table, progress)).progress);
          table.tick(20_000);
        }
      }
      const shown: string[] = [];
      for (const index of [0, 1, 0]) {
        table.commit(index);
        const { ids, progress: reached } = await changesOf(table, progress);
        progress = keep(reached);
        shown.push(...ids);
        table.tick(10);
      }
      expect(new Set(shown)).toEqual(new Set(table.rows.keys()));
    },
  );

  test('continues after a machine writes times in the future', async () => {
    const table = createSimulatedTable(10);
    const items = startTail({ ...table, start: table.beginning(), pollMilliseconds: 10 });
    table.begin(3_600_000);
    table.insert(0);
    table.commit(0);
    await items.next();
    for (let index = 0; index < 5; index++) {
      table.tick(10_000);
      table.begin(0);
      table.insert(0);
      table.commit(0);
      expect((await items.next()).done).toBe(false);
    }
    await items.return();
  });

  test('misses nothing if the client is cut off after a machine writes times in the future', async () => {
    const table = createSimulatedTable(10);
    table.begin(3_600_000);
    table.insert(0);
    table.commit(0);
    let { progress } = await changesOf(table, table.beginning());
    commitRow(table);
    table.tick(1_000);
    commitRow(table);
    progress = decodeCursor('Delivery', encodeCursor(progress));
    const { ids } = await changesOf(table, progress);
    expect(ids).toEqual(expect.arrayContaining([...table.rows.keys()].slice(1)));
  });
});

describe('reading the table', () => {
  const changes = (behind: Changes['behind'] = []): Changes => ({
    ...NOTHING,
    behind,
    horizon: 50n,
    newest: 50n,
    nowMilliseconds: 1_000_000,
  });

  test('reads no rows older than the longest possible transaction, or older than its position if that is even older', async () => {
    const requests: ChangesRequest[] = [];
    const position = { milliseconds: 995_000, id: newId('Delivery') };
    const start = { position, readAtMilliseconds: 999_000, horizon: 10n, shown: new Map() };
    const reader = {
      query: async (request: ChangesRequest) => {
        requests.push(request);
        return changes();
      },
      load: async () => new Map(),
    };
    const { value } = await readChanges(options({}), reader, start).next();
    expect(requests).toEqual([{ position, horizon: 10n, shown: [], sinceMilliseconds: 969_000 }]);
    const reached = (value as { reached: Progress }).reached;
    expect(reached).toMatchObject({ position, horizon: 50n, readAtMilliseconds: 1_000_000 });

    const later = { ...reached, readAtMilliseconds: 99_000_000 };
    await readChanges(options({}), reader, later).next();
    expect(requests[1]).toMatchObject({ sinceMilliseconds: position.milliseconds });
  });

  test('remembers only transactions that could be found again', async () => {
    const rows = Array.from({ length: 1000 }, (_, index) => ({
      id: newId('Delivery'),
      milliseconds: index < 500 ? 900_000 : 999_000,
      transaction: BigInt(index),
    }));
    const reader = { query: async () => changes(rows), load: async () => new Map() };
    const { value } = await readChanges(options({}), reader, createSimulatedTable(1).beginning()).next();
    const { shown } = (value as { reached: Progress }).reached;
    expect([...shown.keys()].every((transaction) => transaction >= 500n)).toBe(true);
  });
});

describe('a waiting tail', () => {
  test('ends immediately when the consumer returns', async () => {
    let isSubscribed = false;
    const items = startTail({
      subscribe() {
        isSubscribed = true;
        return () => {
          isSubscribed = false;
        };
      },
    });
    const pending = items.next();
    await expect.poll(() => isSubscribed).toBe(true);
    expect(await items.return()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(isSubscribed).toBe(false);
  });

  test('reads nothing until the first item is requested', async () => {
    let queries = 0;
    const items = startTail({
      query: async () => {
        queries += 1;
        return NOTHING;
      },
    });
    await items.return();
    expect(queries).toBe(0);
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test('reads only a few times during a burst of hints', async () => {
    const queries: number[] = [];
    let hints = 0;
    let wake = () => {};
    const items = startTail({
      query: async () => {
        queries.push(performance.now());
        return NOTHING;
      },
      subscribe(listener) {
        wake = listener;
        return () => {};
      },
    });
    items.next();
    for (; queries.length < 6; hints++) {
      wake();
      await pace(1);
    }
    await items.return();
    expect(hints).toBeGreaterThan(queries.length);
    // The reads are at least 40 ms apart, minus the rounding of timers.
    for (const [index, at] of queries.slice(1).entries()) expect(at - queries[index]!).toBeGreaterThan(35);
  });

  test('does not lose a hint that arrives during a read', async () => {
    const table = createSimulatedTable(10);
    let wake = () => {};
    let queries = 0;
    const items = startTail({
      ...table,
      start: table.beginning(),
      query: async (request) => {
        const seen = await table.query(request);
        if (++queries === 1) {
          table.begin(0);
          table.insert(0);
          table.commit(0);
          wake();
        }
        return seen;
      },
      subscribe(listener) {
        wake = listener;
        return () => {};
      },
    });
    expect((await items.next()).value!.row.version).toBe(1);
    await items.return();
  });

  test('continues after the database was down, and shows nothing twice', async () => {
    const table = createSimulatedTable(2);
    for (let index = 0; index < 5; index++) {
      table.begin(0);
      table.insert(0);
      table.commit(0);
      table.tick(1);
    }
    let reads = 0;
    const flaky = <T>(read: () => Promise<T>): Promise<T> =>
      ++reads % 2 === 1 ? Promise.reject(new Error('away')) : read();
    const items = startTail({
      start: table.beginning(),
      query: (request) => flaky(() => table.query(request)),
      load: (rows) => flaky(() => table.load(rows)),
      pollMilliseconds: 5,
    });
    const seen = new Set<string>();
    for (let index = 0; index < 5; index++) seen.add((await items.next()).value!.row.id);
    expect(seen.size).toBe(5);
    await items.return();
  });

  test('ends with the error if the database stays down', async () => {
    const items = startTail({ query: () => Promise.reject(new Error('away')), pollMilliseconds: 1 });
    await expect(items.next()).rejects.toThrow('away');
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });
});

describe('a cursor', () => {
  const at = 1_763_714_013_123;
  const progress: Progress = {
    position: { milliseconds: at, id: firstIdAt('Event', at) },
    readAtMilliseconds: 1_763_714_013_200,
    horizon: 4_294_967_290n,
    shown: new Map([
      [4_294_967_291n, 1],
      [4_294_967_300n, 2],
    ]),
  };

  test('restores the progress', () => {
    const read = decodeCursor('Event', encodeCursor(progress));
    expect({ ...read, shown: [...read.shown.keys()] }).toEqual({ ...progress, shown: [...progress.shown.keys()] });
  });

  const time = fc.integer({ min: 0, max: 36 ** 9 - 1 });

  test('restores every position that a read could have reached', () => {
    const reached = fc.tuple(time, fc.integer({ max: 30_000 })).map(([readAt, skew]) => ({
      readAtMilliseconds: readAt,
      milliseconds: Math.min(Math.max(0, readAt + skew), 36 ** 9 - 1),
    }));
    fc.assert(
      fc.property(fc.constantFrom('Event' as const, 'Delivery' as const), reached, (type, read) => {
        const position = { milliseconds: read.milliseconds, id: firstIdAt(type, read.milliseconds) };
        const { readAtMilliseconds } = read;
        const cursor = encodeCursor({ position, readAtMilliseconds, horizon: 7n, shown: new Map() });
        expect(decodeCursor(type, cursor)).toMatchObject({ position, readAtMilliseconds, horizon: 7n });
      }),
    );
  });

  test('makes a read look back at most a minute from its position if it was forged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('Event' as const, 'Delivery' as const), time, time, time, async (...forged) => {
        const [type, milliseconds, idMilliseconds, readAtMilliseconds] = forged;
        const position = { milliseconds, id: firstIdAt(type, idMilliseconds) };
        const cursor = encodeCursor({ position, readAtMilliseconds, horizon: 0n, shown: new Map() });
        const requests: ChangesRequest[] = [];
        const query = async (request: ChangesRequest) => {
          requests.push(request);
          return NOTHING;
        };
        await readChanges(options({}), { query, load: async () => new Map() }, decodeCursor(type, cursor)).next();
        const [request] = requests;
        const to = type === 'Event' ? millisecondsOfId(request!.position.id) : request!.position.milliseconds;
        expect(to - request!.sinceMilliseconds).toBeLessThanOrEqual(60_000);
      }),
    );
  });

  test('shows every row, and reads each of them only once, if it was forged', async () => {
    const table = createSimulatedTable(10);
    for (let index = 0; index < 500; index++) {
      table.begin(0);
      table.insert(0);
      table.commit(0);
      table.tick(1_000);
    }
    table.tick(60_000);
    const position = { milliseconds: 1_900_000_000_000, id: newId('Delivery') };
    const forged = encodeCursor({ position, readAtMilliseconds: 0, horizon: 0n, shown: new Map() });
    let reads = 0;
    const query = async (request: ChangesRequest) => {
      const found = await table.query(request);
      const isLateRead = ({ milliseconds }: SimulatedRow) =>
        milliseconds >= request.sinceMilliseconds && milliseconds < request.position.milliseconds;
      reads += [...table.rows.values()].filter(isLateRead).length + found.behind.length;
      return found;
    };
    const shown: string[] = [];
    let progress = decodeCursor('Delivery', forged);
    for (let isFull = true; isFull; ) {
      const items = readChanges({ present }, { query, load: table.load }, progress);
      let next = await items.next();
      for (; !next.done; next = await items.next()) shown.push(next.value.row.id);
      ({ reached: progress, isFull } = next.value);
    }
    expect(shown).toEqual([...table.rows.keys()]);
    expect(reads).toBe(500);
  });

  test('stays short, no matter how much is in doubt', () => {
    const shown = new Map(Array.from({ length: 5000 }, (_, index) => [progress.horizon + BigInt(index), 0]));
    const cursor = encodeCursor({ ...progress, shown });
    expect(cursor.length).toBeLessThan(1_100);
    expect([...decodeCursor('Event', cursor).shown.keys()]).toEqual([...shown.keys()].slice(-500));
  });

  test.each([
    ['', 'nothing'],
    ['x', 'a letter'],
    [newId('Event'), 'an ID'],
    [encodeCursor(progress).replace('evt_', 'dlv_'), 'a cursor of another feed'],
    [`${encodeCursor(progress)}x.`, 'a cursor followed by other text'],
    [`${encodeCursor(progress)}_`, 'a truncated cursor'],
    [encodeCursor(progress).toUpperCase(), 'another case'],
    [`\u0000${encodeCursor(progress)}`, 'a NUL byte'],
    ['1.2.3.4.5', 'numbers'],
  ])('is rejected with an error that names the field if it is invalid: %j, %s', (cursor) => {
    expect(() => decodeCursor('Event', cursor)).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED', fields: [expect.objectContaining({ pointer: '/after' })] }),
    );
  });
});
