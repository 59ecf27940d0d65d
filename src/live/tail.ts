import { collectHints, type Hints } from '../bus/hints.ts';
import { createPrefetch, type Prefetch } from './prefetch.ts';

/** A position in a table that is ordered by time, then by ID. */
export type Position = { milliseconds: number; id: string };

/** A row found by a read: its position, and the transaction that wrote its current version. */
export type FoundRow = Position & { transaction: bigint };

/**
 * How far a follower has come. A position alone isn't enough, because rows become visible when their transaction
 * commits, which may not be in the order of their times.
 */
export type Progress = {
  /** The last row, in the table's order, that was shown. Rows after it haven't been shown. */
  position: Position;
  /** When the follower last read the table, by the database's clock. */
  lookedAtMilliseconds: number;
  /** All transactions before this one had ended by then, and their rows up to `position` were shown. */
  horizon: bigint;
  /** Later transactions with rows up to `position` that were shown anyway, each with the time of one such row. */
  shown: ReadonlyMap<bigint, number>;
};

export type LookRequest = {
  /** Find a page of the rows after this position. */
  position: Position;
  /** Also find all rows up to the position that this transaction or a later one wrote. */
  horizon: bigint;
  /** Rows before this time can't be new. */
  sinceMilliseconds: number;
};

/** The rows visible at one moment, in the table's order. If `isFull`, there may be more after the last one. */
export type Look = { rows: FoundRow[]; isFull: boolean; horizon: bigint; nowMilliseconds: number };

export type TailOptions<Row, Item> = {
  start: Progress;
  look(request: LookRequest): Promise<Look>;
  /** Loads rows by ID. Leaves out rows that were deleted, have changed, or are no longer visible. */
  load(rows: readonly FoundRow[]): Promise<ReadonlyMap<string, Row>>;
  /** Creates an item from a row and the progress to resume from after it. */
  present(row: Row, progress: Progress): Item;
  /** Subscribes to hints about new rows. Returns the unsubscribe function. */
  subscribe(wake: () => void): () => void;
  /** Decides how many rows are read at once, and counts them. */
  prefetch?: Prefetch;
  /** How often to read without a hint, because hints may be lost. */
  pollMilliseconds: number;
};

/**
 * How long after its time a row may become visible. Longer than the longest transaction plus the difference between the
 * machines' clocks.
 */
export const MAX_LATENESS_MILLISECONDS = 30_000;

/** Hints that arrive faster than this share one read. */
const MIN_PAUSE_MILLISECONDS = 40;
/** The pause after a read is at least this many times as long as the read took. */
const PAUSES_PER_LOOK = 3;
/** How many reads in a row may fail, for example, while the database restarts. */
const MAX_FAILURES = 15;

/**
 * Follows a table: existing rows after `start`, then new ones. Within one run, it misses no row, no matter in which
 * order transactions commit, and shows no version of a row twice. It reads only as fast as it is consumed, and ends
 * immediately when the consumer returns.
 */
export function tail<Row, Item>(options: TailOptions<Row, Item>): AsyncIterableIterator<Item, void, undefined> {
  const stop = new AbortController();
  const items = follow(options, stop.signal);
  return {
    next: () => items.next(),
    // A generator alone would only notice this at its next item, which may never come.
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
 * Emits the rows from one read: first the late rows, then the rows after the position. Late rows are ordered by
 * transaction, so a client that disconnects partway through only needs to remember where to continue.
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
        // A transaction counts as shown only once its last late row is shown.
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
 * Selects the rows from a read to show next, so only these wait for a slow consumer. The next read finds the rest. Late
 * rows end with a whole transaction. If there are more, `nextLate` is the first of them.
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

/** With this progress, rows before this time can't be new. */
function oldestNews({ position, lookedAtMilliseconds }: Pick<Progress, 'position' | 'lookedAtMilliseconds'>): number {
  return Math.min(position.milliseconds, lookedAtMilliseconds - MAX_LATENESS_MILLISECONDS);
}

/** The progress before the late row `next`, or after the last one. */
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
  /** How long to pause, based on how long the reads since the last call took. */
  pauseMilliseconds(): number;
};

/** Retries failed reads for a while, and measures how long reads take. */
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
