import type { Backlog } from '../limits/backlog.ts';

/** How many bytes of rows a follower reads ahead. It reads at least one row, no matter how large. */
const PREFETCH_BYTES = 32 * 1024;
/** How many rows to read first, before their size is known. */
const FIRST_ROWS = 8;
const MAX_ROWS = 200;
/** Bytes of memory for the position of a row that hasn't been loaded yet. */
const POSITION_BYTES = 200;

/** Determines how many rows a follower reads ahead of its client, and counts them in the backlog. */
export type Prefetch = {
  /** How many rows to read next. */
  rowCount(): number;
  /** Counts these rows as pending until the returned function is called. */
  reserveRows(rows: Iterable<unknown>): () => void;
  /** How many row positions to keep for later. The remaining positions are looked up again. */
  positionCount(): number;
  reservePositions(count: number): () => void;
};

/**
 * Limits how many bytes are read ahead, based on the size of recent rows. With a large backlog, it reads row by row.
 */
export function createPrefetch(backlog?: Pick<Backlog, 'reserve' | 'isCrowded'>): Prefetch {
  let largestBytes = PREFETCH_BYTES / FIRST_ROWS;
  const isCrowded = () => backlog?.isCrowded() ?? false;
  const reserve = (bytes: number) => backlog?.reserve(bytes) ?? (() => {});
  return {
    rowCount() {
      if (isCrowded()) return 1;
      return Math.max(1, Math.min(MAX_ROWS, Math.floor(PREFETCH_BYTES / largestBytes)));
    },
    reserveRows(rows) {
      const sizes = [...rows].map(roughBytes);
      if (sizes.length > 0) largestBytes = Math.max(...sizes);
      return reserve(sizes.reduce((sum, size) => sum + size, 0));
    },
    positionCount: () => (isCrowded() ? FIRST_ROWS : Infinity),
    reservePositions: (count) => reserve(count * POSITION_BYTES),
  };
}

/** Roughly how many bytes of memory a value takes. */
export function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce((sum: number, field) => sum + 16 + roughBytes(field), 32);
}
