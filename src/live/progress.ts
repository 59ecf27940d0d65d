/** A position in a table. Tables are ordered by time, then by ID. */
export type Position = { milliseconds: number; id: string };

/** A read, and the first transaction that hadn't begun by then. */
type Mark = { newest: bigint; milliseconds: number };

/** A row found by a read: its position, and the transaction that wrote its current version. */
export type FoundRow = Position & { transaction: bigint };

/**
 * How far a follower has read. A position alone isn't enough, because rows become visible when their transactions
 * commit, and that order can differ from the order of the rows' times.
 */
export type Progress = {
  /** The last row, in the table's order, that was shown. Rows after it haven't been shown. */
  position: Position;
  /**
   * When the follower last read the table, by the database's clock. If a transaction that was running then may still be
   * running, this is the time of an earlier read, before which it can't have begun.
   */
  readAtMilliseconds: number;
  /** The read whose time comes next. Omitted if nothing was running at the last one. A cursor doesn't contain it. */
  mark?: Mark;
  /** All transactions before this one had ended by then, and their rows up to `position` were shown. */
  horizon: bigint;
  /** Later transactions whose rows up to `position` were shown anyway, each with the time of one of those rows. */
  shown: ReadonlyMap<bigint, number>;
};

export type ChangesRequest = {
  /** Find a page of the rows after this position. */
  position: Position;
  /** Also find rows that this transaction or a later one wrote, up to the position. */
  horizon: bigint;
  /** Leave out rows that these transactions wrote, up to the position. */
  shown: bigint[];
  /** Rows before this time can't be new. */
  sinceMilliseconds: number;
};

/** The rows visible at one moment, in the table's order. */
export type Changes = {
  /** A page of rows up to the position. If `isLateFull`, there may be more, all from later transactions. */
  late: FoundRow[];
  isLateFull: boolean;
  /** A page of rows after the position. If `isFull`, there may be more after the last one. */
  behind: FoundRow[];
  isFull: boolean;
  horizon: bigint;
  /** The first transaction that hadn't begun yet, or a later one. */
  newest: bigint;
  nowMilliseconds: number;
};

/**
 * How long after its timestamp a row may become visible. Longer than the longest transaction plus the difference
 * between the machines' clocks.
 */
export const MAX_LATENESS_MILLISECONDS = 30_000;

/**
 * A commit can take longer than a transaction, for example, while a synchronous standby is unavailable. Then all rows
 * become visible at nearly the same time, whenever they were written. Up to this limit, none of them is missed.
 */
const MAX_STALL_MILLISECONDS = 10 * 60_000;
/**
 * If so many transactions have ended since then, it isn't the commits that are slow, but a single transaction, which
 * isn't ours. To look for its rows, each read would have to find all of theirs again.
 */
const MAX_ENDED = 500;

/** What a read changes about `readAtMilliseconds` and `mark`. */
export function reachTime(
  { readAtMilliseconds, mark }: Pick<Progress, 'readAtMilliseconds' | 'mark'>,
  { horizon, newest, nowMilliseconds }: Pick<Changes, 'horizon' | 'newest' | 'nowMilliseconds'>,
  endedCount: number,
): Pick<Progress, 'readAtMilliseconds' | 'mark'> {
  if (horizon >= newest || endedCount > MAX_ENDED) return { readAtMilliseconds: nowMilliseconds };
  const hasPassed = mark !== undefined && horizon >= mark.newest;
  const settledAt = hasPassed ? mark.milliseconds : readAtMilliseconds;
  return {
    readAtMilliseconds: Math.max(settledAt, nowMilliseconds - MAX_STALL_MILLISECONDS),
    mark: mark && !hasPassed ? mark : { newest, milliseconds: nowMilliseconds },
  };
}

/**
 * Whether a follower with this progress has shown the row.
 *
 * @param isIgnorable whether the row's last change can be ignored. If so, another transaction may have written the
 *   version that was shown.
 */
export function isShown(row: FoundRow, { position, horizon, shown }: Progress, isIgnorable: boolean): boolean {
  return !isBehind(row, position) && (isIgnorable || row.transaction < horizon || shown.has(row.transaction));
}

/** With this progress, rows before this time can't be new. */
export function oldestUnseen({ position, readAtMilliseconds }: Pick<Progress, 'position' | 'readAtMilliseconds'>) {
  return Math.min(position.milliseconds, readAtMilliseconds - MAX_LATENESS_MILLISECONDS);
}

export function isBehind(a: Position, b: Position): boolean {
  return a.milliseconds > b.milliseconds || (a.milliseconds === b.milliseconds && a.id > b.id);
}
