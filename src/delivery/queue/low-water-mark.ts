import { type DueResult, FROM_THE_BEGINNING } from './claim.ts';

/** Longer than the transaction of almost any event takes from the time it stores to its commit. */
const MARGIN_MILLISECONDS = 500;
/** While the queue is full of deliveries that have to be parked, claims look only at what fell due this recently. */
const RECENT_MILLISECONDS = 1_000;
const COMPLETE_EVERY_MILLISECONDS = 2_000;
/** A complete scan takes at most one in so many milliseconds, and one in fewer after a hint that led to nothing. */
const MIN_PAUSES = 50;
const MIN_PAUSES_AFTER_HINT = 10;

/**
 * Where claims start in the queue, for first attempts and for retries. Before it are only deliveries that are being sent,
 * and index entries of finished ones, which PostgreSQL keeps while a transaction is older than them. The mark is
 * the earliest due time that a claim has found, less a margin for transactions that haven't committed. What commits later
 * still, and leases that have expired, are found by a complete scan every few seconds.
 *
 * @param now milliseconds of a clock that never steps back.
 */
export function createLowWaterMark(now: () => number = () => performance.now()) {
  let marks: readonly number[] = FROM_THE_BEGINNING;
  let lastStart = marks;
  /** The latest time of the database, and when it was read. */
  let latest = { databaseMilliseconds: Number.NEGATIVE_INFINITY, at: 0 };
  let scannedAt = Number.NEGATIVE_INFINITY;
  let scanMilliseconds = 0;

  const sinceScan = () => now() - scannedAt;

  async function scan(run: (marks: readonly number[]) => Promise<DueResult>): Promise<DueResult> {
    const startedAt = now();
    lastStart = FROM_THE_BEGINNING;
    const result = await run(FROM_THE_BEGINNING);
    scannedAt = now();
    scanMilliseconds = scannedAt - startedAt;
    return result;
  }

  const isScanDue = () => sinceScan() > Math.max(COMPLETE_EVERY_MILLISECONDS, scanMilliseconds * MIN_PAUSES);

  function recent(): readonly number[] {
    const time = latest.databaseMilliseconds + now() - latest.at - RECENT_MILLISECONDS;
    return marks.map((mark) => Math.max(mark, time));
  }

  async function find(
    run: (marks: readonly number[]) => Promise<DueResult>,
    { isHinted, mayMove }: { isHinted: boolean; mayMove: boolean },
  ): Promise<DueResult> {
    if (isScanDue()) return scan(run);
    lastStart = marks;
    const result = await run(mayMove ? marks : recent());
    const isInVain = isHinted && result.deliveries.length === 0 && result.leftOut.length === 0;
    return isInVain && sinceScan() > scanMilliseconds * MIN_PAUSES_AFTER_HINT ? scan(run) : result;
  }

  return {
    /** Where the last claim started, or where its mark was if it looked only at what is recent. */
    start: (): readonly number[] => lastStart,

    /**
     * Claims from the mark on, or from the beginning when that is due, and moves the mark.
     *
     * @param options.isHinted whether a hint announced something since the last claim.
     * @param options.mayMove false if due deliveries may have been passed over that aren't parked yet.
     * @param options.limits the most deliveries that the claim may take of each lane.
     */
    async claim(
      run: (marks: readonly number[]) => Promise<DueResult>,
      { isHinted, mayMove, limits }: { isHinted: boolean; mayMove: boolean; limits: readonly number[] },
    ): Promise<DueResult> {
      const result = await find(run, { isHinted, mayMove });
      latest = { databaseMilliseconds: result.databaseMilliseconds, at: now() };
      if (mayMove) {
        const highest = result.databaseMilliseconds - MARGIN_MILLISECONDS;
        marks = result.lowestDue.map((lowest, lane) =>
          limits[lane]! > 0 ? Math.min(lowest ?? highest, highest) : marks[lane]!,
        );
      }
      return result;
    },
  };
}
