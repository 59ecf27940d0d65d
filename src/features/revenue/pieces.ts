import { type Period, type RevenueInterval, startOfInterval } from './period.ts';

/** A part of a period that consists of whole UTC hours, days, or months. */
export type Piece = { interval: RevenueInterval; from: Date; to: Date };

const HOUR = 3_600_000;
const NEXT_LONGER: Partial<Record<RevenueInterval, RevenueInterval>> = { HOUR: 'DAY', DAY: 'MONTH' };

/**
 * Divides a period into the longest UTC intervals: months, days before and after them, and hours at both ends. There
 * are at most five pieces. If an end isn't a whole hour, the first or last piece contains that whole hour.
 *
 * @param longest the longest interval to use
 */
export function toPieces({ from, to }: Pick<Period, 'from' | 'to'>, longest: RevenueInterval): Piece[] {
  const [start, end] = [floor(from), ceil(to)];
  const divide = (piece: Piece): Piece[] => {
    const interval = piece.interval === longest ? undefined : NEXT_LONGER[piece.interval];
    if (!interval) return [piece];
    const first = startOfInterval(new Date(Math.max(+from, +piece.from) - 1), interval, 1);
    const last = startOfInterval(new Date(Math.min(+to, +piece.to)), interval, 0);
    if (first >= last) return [piece];
    return [{ ...piece, to: first }, ...divide({ interval, from: first, to: last }), { ...piece, from: last }].filter(
      (each) => each.from < each.to,
    );
  };
  return divide({ interval: 'HOUR', from: start, to: end });
}

/**
 * Divides a period by whole UTC days, which are read from the books, and the hours around them. No day is in two of the
 * period's intervals, and no hour, except for those in `splitHours`.
 *
 * @param starts the starts of the intervals
 */
export function toBucketPieces(period: Period, starts: readonly Date[]): Piece[] {
  if (period.interval === 'HOUR') return [{ interval: 'HOUR', from: period.from, to: period.to }];
  const pieces: Piece[] = [];
  for (const [index, from] of starts.entries()) {
    for (const piece of toPieces({ from, to: starts[index + 1] ?? period.to }, 'DAY')) {
      const last = pieces.at(-1);
      if (last && last.interval === piece.interval && piece.from <= last.to) last.to = piece.to;
      else pieces.push(piece);
    }
  }
  return pieces;
}

/** The UTC hours that contain the start of an interval, or the end of the last one, other than as their own start. */
export function splitHours(times: readonly Date[]): Date[] {
  return times.filter((time) => time.getTime() % HOUR !== 0).map(floor);
}

const floor = (time: Date) => new Date(Math.floor(time.getTime() / HOUR) * HOUR);
const ceil = (time: Date) => new Date(Math.ceil(time.getTime() / HOUR) * HOUR);
