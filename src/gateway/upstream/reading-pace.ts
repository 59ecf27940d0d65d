import type { Readable } from 'node:stream';
import { GRACE_MILLISECONDS } from './request-body.ts';

/** The slowest average rate at which a buyer may read while the upstream has more to send. */
const MIN_BYTES_PER_MILLISECOND = 32;

export type ReadingPace = {
  /** Counts bytes that the upstream sent. They are read only as fast as the buyer reads. */
  add(bytes: number): void;
  /** Whether the upstream may have given up because the buyer kept it waiting. */
  isSlow(): boolean;
  /** How long the buyer has kept the upstream waiting in total. */
  pausedMilliseconds(): number;
};

/**
 * Finds out whether the buyer of a stream ever reads so slowly, or pauses for so long, that the upstream's own time limit
 * for sending could pass. Fast reading earlier doesn't make up for a pause.
 *
 * @param now a monotonic clock, in milliseconds
 */
export function watchReadingPace(stream: Readable, now = () => performance.now()): ReadingPace {
  let owedMilliseconds = 0;
  let totalMilliseconds = 0;
  let pausedAt: number | undefined;
  let isSlow = false;

  function countPause(): void {
    if (pausedAt === undefined) return;
    const time = now();
    owedMilliseconds += time - pausedAt;
    totalMilliseconds += time - pausedAt;
    pausedAt = time;
    isSlow ||= owedMilliseconds > GRACE_MILLISECONDS;
  }

  stream.on('pause', () => {
    pausedAt ??= now();
  });
  stream.on('resume', () => {
    countPause();
    pausedAt = undefined;
  });
  return {
    add(bytes) {
      owedMilliseconds = Math.max(0, owedMilliseconds - bytes / MIN_BYTES_PER_MILLISECOND);
    },
    isSlow() {
      countPause();
      return isSlow;
    },
    pausedMilliseconds() {
      countPause();
      return totalMilliseconds;
    },
  };
}
