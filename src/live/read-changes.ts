import { createPrefetch, type Prefetch } from './prefetch.ts';
import {
  type Changes,
  type ChangesRequest,
  type FoundRow,
  oldestUnseen,
  type Position,
  type Progress,
  reachTime,
} from './progress.ts';

export type Reader<Row> = {
  query(request: ChangesRequest): Promise<Changes>;
  /** Loads rows by ID. Leaves out rows that were deleted, have changed, or are no longer visible. */
  load(rows: readonly FoundRow[]): Promise<ReadonlyMap<string, Row>>;
};

/** Creates an item from a row, its location, and the progress to resume from after that row. */
export type Present<Row, Item> = (row: Row, progress: Progress, found: FoundRow) => Item;

/**
 * Emits the rows from one read: first the late rows, then the rows after the position. Late rows are ordered by
 * transaction, so a client that disconnects partway through only needs to remember where to continue.
 */
export async function* readChanges<Row, Item>(
  { present, prefetch = createPrefetch() }: { present: Present<Row, Item>; prefetch?: Prefetch | undefined },
  reader: Reader<Row>,
  progress: Progress,
): AsyncGenerator<Item, { reached: Progress; isFull: boolean }> {
  const { position, horizon } = progress;
  const request = { position, horizon, shown: [...progress.shown.keys()], sinceMilliseconds: oldestUnseen(progress) };
  const { seen, late, nextLate, behind, isFull } = choose(await reader.query(request), prefetch);
  const unseen = [...late, ...behind];
  const shown = new Map(progress.shown);

  const releasePositions = prefetch.reservePositions(unseen.length);
  let releaseRows = () => {};
  try {
    for (let start = 0; start < unseen.length; ) {
      const rows = unseen.slice(start, start + prefetch.rowCount());
      const loaded = await reader.load(rows);
      releaseRows = prefetch.reserveRows(loaded.values());
      for (const [offset, row] of rows.entries()) {
        const following = late[start + offset + 1] ?? nextLate;
        // A transaction counts as shown only after its last late row has been shown.
        if (following?.transaction !== row.transaction) shown.set(row.transaction, row.milliseconds);
        const found = loaded.get(row.id);
        if (found === undefined) continue;
        const isLate = start + offset < late.length;
        yield present(
          found,
          isLate ? reachLate(progress, seen, following, shown) : reach(row, progress, seen, shown),
          row,
        );
      }
      releaseRows();
      start += rows.length;
    }
  } finally {
    releaseRows();
    releasePositions();
  }
  if (nextLate) return { reached: reachLate(progress, seen, nextLate, shown), isFull };
  return { reached: reach(behind.at(-1) ?? position, progress, seen, shown), isFull };
}

type Moment = Pick<Changes, 'horizon' | 'newest' | 'nowMilliseconds'>;

/**
 * Selects which rows of a read to show next, so that only these wait for a slow consumer. The next read finds the other
 * rows again. If there are more late rows, `nextLate` is where they start.
 */
function choose({ late: unordered, isLateFull, behind, isFull, ...seen }: Changes, prefetch: Prefetch) {
  const late = unordered.sort((a, b) => Number(a.transaction - b.transaction));
  const last = late.at(-1);
  if (isLateFull && last) {
    return { seen, late, nextLate: { transaction: last.transaction + 1n }, behind: [], isFull: true };
  }
  const count = prefetch.positionCount();
  return { seen, late, nextLate: undefined, behind: behind.slice(0, count), isFull: isFull || behind.length > count };
}

/** The progress before the late row `next`, or after the last one. */
function reachLate(
  before: Progress,
  { horizon }: Moment,
  next: Pick<FoundRow, 'transaction'> | undefined,
  shown: ReadonlyMap<bigint, number>,
): Progress {
  return {
    ...before,
    horizon: next && next.transaction < horizon ? next.transaction : horizon,
    // This is a copy, because `shown` grows while the remaining rows are emitted.
    shown: new Map(shown),
  };
}

function reach(position: Position, before: Progress, seen: Moment, shown: ReadonlyMap<bigint, number>): Progress {
  const { horizon } = seen;
  const time = reachTime(before, seen, shown.size);
  const oldest = oldestUnseen({ position, ...time });
  const doubtful = [...shown].filter(([transaction, milliseconds]) => transaction >= horizon && milliseconds >= oldest);
  return { position, horizon, ...time, shown: new Map(doubtful) };
}
