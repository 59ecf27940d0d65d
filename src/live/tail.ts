import { collectHints, type Hints } from '../bus/hints.ts';
import { createPrefetch, type Prefetch } from './prefetch.ts';

/** A place in a table that is ordered by time and, within a time, by id. */
export type Position = { milliseconds: number; id: string };

/** A row that a look found: its place, and the transaction that wrote it as it is. */
export type FoundRow = Position & { transaction: bigint };

/**
 * How far a follower has come. Rows become visible when their transaction commits, in another order than that of their
 * times, so a place alone would not do.
 */
export type Progress = {
  /** The last row in the table's order that was shown. What stands behind it was not. */
  position: Position;
  /** When the follower last looked, by the clock of the database. */
  lookedAtMilliseconds: number;
  /** All transactions before this one had ended by then: what they wrote up to `position` was shown. */
  horizon: bigint;
  /** Later transactions whose rows up to `position` were shown all the same, with a time of such a row. */
  shown: ReadonlyMap<bigint, number>;
};

export type LookRequest = {
  /** Asks for the rows behind this place, a page of them, */
  position: Position;
  /** and for all those up to it that this transaction or a later one has written. */
  horizon: bigint;
  /** Rows before this time cannot be new. */
  sinceMilliseconds: number;
};

/** What is to be seen at one moment, in the table's order. `isFull` tells that there may be more behind the last. */
export type Look = { rows: FoundRow[]; isFull: boolean; horizon: bigint; nowMilliseconds: number };

export type TailOptions<Row, Item> = {
  start: Progress;
  look(request: LookRequest): Promise<Look>;
  /** Reads rows, by id. Those that are gone, changed, or not to be seen any more are left out. */
  load(rows: readonly FoundRow[]): Promise<ReadonlyMap<string, Row>>;
  /** Makes an item of a row and of the progress with which to come back after it. */
  present(row: Row, progress: Progress): Item;
  /** Registers for hints that there is something new; returns how to unregister. */
  subscribe(wake: () => void): () => void;
  /** Decides how many rows are read at once, and has them counted. */
  prefetch?: Prefetch;
  /** Hints may be lost: this often it looks by itself. */
  pollMilliseconds: number;
};

/**
 * How long after the time it carries a row may become visible: longer than any transaction lasts, and more by what the
 * clocks of the machines may differ.
 */
export const MAX_LATENESS_MILLISECONDS = 30_000;

/** Hints that come faster are answered together. */
const MIN_PAUSE_MILLISECONDS = 40;
/** The pause after a look is at least this many times as long as the look took. */
const PAUSES_PER_LOOK = 3;
/** So many reads in a row may fail, as they do while the database is restarted. */
const MAX_FAILURES = 15;

/**
 * Follows a table: what is there behind `start`, then what comes. Within one run no row is left out, in whatever order
 * transactions commit, and no state of a row is shown twice. Reads only as fast as it is consumed, and ends at once when
 * the consumer returns.
 */
export function tail<Row, Item>(options: TailOptions<Row, Item>): AsyncIterableIterator<Item, void, undefined> {
  const stop = new AbortController();
  const items = follow(options, stop.signal);
  return {
    next: () => items.next(),
    // A generator by itself hears of it only when it next has something to give, which may be never.
    return() {
      stop.abort();
      return items.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* follow<Row, Item>(options: TailOptions<Row, Item>, signal: AbortSignal): AsyncGenerator<Item, void> {
  const hints = collectHints(options.subscribe, signal);
  const reader = createReader(options, hints, signal);
  let progress = options.start;
  try {
    while (!signal.aborted) {
      hints.clear();
      const { reached, isFull } = yield* lookOnce(options, reader, progress);
      progress = reached;
      if (isFull) continue;
      const pauseUntil = performance.now() + reader.pauseMilliseconds();
      await hints.next(options.pollMilliseconds);
      await hints.rest(pauseUntil - performance.now());
    }
  } finally {
    hints.close();
  }
}

/**
 * Shows what one look finds: first the rows that came late, then those behind the position. The late ones go by their
 * transactions, so that whoever is cut off among them need not remember those it was shown, only where to go on.
 */
export async function* lookOnce<Row, Item>(
  { present, prefetch = createPrefetch() }: Pick<TailOptions<Row, Item>, 'present' | 'prefetch'>,
  reader: Pick<TailOptions<Row, Item>, 'look' | 'load'>,
  progress: Progress,
): AsyncGenerator<Item, { reached: Progress; isFull: boolean }> {
  const { position, horizon } = progress;
  const request = { position, horizon, sinceMilliseconds: oldestNews(progress) };
  const { seen, late, nextLate, behind, isFull } = choose(await reader.look(request), progress, prefetch);
  const unseen = [...late, ...behind];
  const shown = new Map(progress.shown);

  const releasePlaces = prefetch.holdPlaces(unseen.length);
  let releaseRows = () => {};
  try {
    for (let start = 0; start < unseen.length; ) {
      const rows = unseen.slice(start, start + prefetch.rowCount());
      const loaded = await reader.load(rows);
      releaseRows = prefetch.holdRows(loaded.values());
      for (const [offset, row] of rows.entries()) {
        const following = late[start + offset + 1] ?? nextLate;
        // That a transaction was shown may be said only from its last late row on.
        if (following?.transaction !== row.transaction) shown.set(row.transaction, row.milliseconds);
        const found = loaded.get(row.id);
        if (found === undefined) continue;
        const isLate = start + offset < late.length;
        yield present(found, isLate ? reachLate(progress, seen, following, shown) : reach(row, seen, shown));
      }
      releaseRows();
      start += rows.length;
    }
  } finally {
    releaseRows();
    releasePlaces();
  }
  if (nextLate) return { reached: reachLate(progress, seen, nextLate, shown), isFull };
  return { reached: reach(behind.at(-1) ?? position, seen, shown), isFull };
}

type Moment = Pick<Look, 'horizon' | 'nowMilliseconds'>;

/**
 * Keeps of a look what is shown next, so that no more than that waits for a slow consumer; the rest is found by the look
 * after it. What came late ends with a whole transaction, and when there is more of it, `nextLate` is where.
 */
function choose({ rows, isFull, ...seen }: Look, { position, shown }: Progress, prefetch: Prefetch) {
  const late = rows
    .filter((row) => !isBehind(row, position) && !shown.has(row.transaction))
    .sort((a, b) => Number(a.transaction - b.transaction));
  const lastKept = late[prefetch.lateCount() - 1]?.transaction;
  const end = lastKept === undefined ? -1 : late.findIndex(({ transaction }) => transaction > lastKept);
  if (end > 0) return { seen, late: late.slice(0, end), nextLate: late[end], behind: [], isFull: true };

  const behind = rows.filter((row) => isBehind(row, position));
  const count = prefetch.placeCount();
  return { seen, late, nextLate: undefined, behind: behind.slice(0, count), isFull: isFull || behind.length > count };
}

/** Rows before this time cannot be new to one who has come so far. */
function oldestNews({ position, lookedAtMilliseconds }: Pick<Progress, 'position' | 'lookedAtMilliseconds'>): number {
  return Math.min(position.milliseconds, lookedAtMilliseconds - MAX_LATENESS_MILLISECONDS);
}

/** The progress before the late row `next`, or after the last. */
function reachLate(
  before: Progress,
  { horizon }: Moment,
  next: FoundRow | undefined,
  shown: ReadonlyMap<bigint, number>,
): Progress {
  return { ...before, horizon: next && next.transaction < horizon ? next.transaction : horizon, shown };
}

function reach(
  position: Position,
  { horizon, nowMilliseconds: lookedAtMilliseconds }: Moment,
  shown: ReadonlyMap<bigint, number>,
): Progress {
  const oldest = oldestNews({ position, lookedAtMilliseconds });
  const doubtful = [...shown].filter(([transaction, time]) => transaction >= horizon && time >= oldest);
  return { position, horizon, lookedAtMilliseconds, shown: new Map(doubtful) };
}

export function isBehind(a: Position, b: Position): boolean {
  return a.milliseconds > b.milliseconds || (a.milliseconds === b.milliseconds && a.id > b.id);
}

type Reader<Row> = Pick<TailOptions<Row, never>, 'look' | 'load'> & {
  /** How long to leave the database in peace, by how long the reads since the last question took. */
  pauseMilliseconds(): number;
};

/** Reads again when a read fails, for a while, and takes the time. */
function createReader<Row>(
  { look, load, pollMilliseconds }: Pick<TailOptions<Row, unknown>, 'look' | 'load' | 'pollMilliseconds'>,
  hints: Hints,
  signal: AbortSignal,
): Reader<Row> {
  let spentMilliseconds = 0;

  async function read<T>(run: () => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures++) {
      const startedAt = performance.now();
      try {
        return await run();
      } catch (error) {
        if (signal.aborted || failures >= MAX_FAILURES) throw error;
      } finally {
        spentMilliseconds += performance.now() - startedAt;
      }
      await hints.rest(pollMilliseconds);
    }
  }

  return {
    look: (request) => read(() => look(request)),
    load: (rows) => read(() => load(rows)),
    pauseMilliseconds() {
      const pause = Math.max(MIN_PAUSE_MILLISECONDS, PAUSES_PER_LOOK * spentMilliseconds);
      spentMilliseconds = 0;
      return pause;
    },
  };
}
