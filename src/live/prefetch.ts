import type { Backlog } from '../limits/backlog.ts';

/** So many bytes of rows a follower reads ahead. One row at least is read, however large. */
const PREFETCH_BYTES = 32 * 1024;
/** So many rows at first, when nothing is known of their size. */
const FIRST_ROWS = 8;
const MAX_ROWS = 200;
/** What a row takes of which only the place is known. */
const PLACE_BYTES = 200;

/** Decides how many rows a follower reads ahead of its client, and has them counted. */
export type Prefetch = {
  /** How many rows to read next. */
  rowCount(): number;
  /** Counts rows that were read until the returned function is called. */
  holdRows(rows: Iterable<unknown>): () => void;
  /** How many places of rows to keep for later; the others are looked up again. Of late rows so many or more. */
  placeCount(): number;
  lateCount(): number;
  holdPlaces(count: number): () => void;
};

/** Reads ahead by bytes, as large as the rows so far were; where much waits already, row by row. */
export function createPrefetch(backlog?: Pick<Backlog, 'hold' | 'isCrowded'>): Prefetch {
  let largestBytes = PREFETCH_BYTES / FIRST_ROWS;
  const isCrowded = () => backlog?.isCrowded() ?? false;
  const hold = (bytes: number) => backlog?.hold(bytes) ?? (() => {});
  return {
    rowCount() {
      if (isCrowded()) return 1;
      return Math.max(1, Math.min(MAX_ROWS, Math.floor(PREFETCH_BYTES / largestBytes)));
    },
    holdRows(rows) {
      const sizes = [...rows].map(roughBytes);
      if (sizes.length > 0) largestBytes = Math.max(...sizes);
      return hold(sizes.reduce((sum, size) => sum + size, 0));
    },
    placeCount: () => (isCrowded() ? FIRST_ROWS : Infinity),
    lateCount: () => MAX_ROWS,
    holdPlaces: (count) => hold(count * PLACE_BYTES),
  };
}

/** About how many bytes of memory a value takes. */
function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce((sum: number, field) => sum + 16 + roughBytes(field), 32);
}
