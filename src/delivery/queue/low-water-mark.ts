import { type DueResult, FROM_THE_BEGINNING } from './claim.ts';

/** Almost every transaction that stores an event commits at most this long after the due time that it stores. */
const MARGIN_MILLISECONDS = 500;
/**
 * While the queue is full of deliveries that must be parked, claims look only at deliveries that became due since this
 * long before the last claim.
 */
const RECENT_MILLISECONDS = 1_000;
const COMPLETE_EVERY_MILLISECONDS = 2_000;
/** Complete scans use at most one in this many milliseconds, or one in 10 after a hint that led to no deliveries. */
const MIN_PAUSES = 50;
const MIN_PAUSES_AFTER_HINT = 10;

/**
 * Where claims start in the queue: one mark for first attempts and one for retries. The only entries before a mark are
 * deliveries that are being sent, and finished deliveries whose index entries PostgreSQL keeps while an older
 * transaction is open. A mark is the earliest due time that a claim has found, or a short time ago if that is earlier,
 * because some transactions may not have committed yet. A complete scan every few seconds finds deliveries that are
 * committed later than that and deliveries whose lease has expired.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createLowWaterMark(now: () => number = () => performance.now()) {
  let marks: readonly number[] = FROM_THE_BEGINNING;
  let lastStart = marks;
  /** When the last claim was, by the database's clock. */
  let claimedAt = Number.NEGATIVE_INFINITY;
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
    return marks.map((mark) => Math.max(mark, claimedAt - RECENT_MILLISECONDS));
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
    /** Where the last claim started, or where its mark was if it looked only at recent deliveries. */
    start: (): readonly number[] => lastStart,

    /**
     * Claims from the mark onward, or from the beginning when a complete scan is due, and moves the mark.
     *
     * @param options.isHinted whether a hint has announced a delivery since the last claim.
     * @param options.mayMove false if the claim may pass over due deliveries that aren't parked yet.
     * @param options.limits the maximum number of deliveries that the claim may take from each retry class.
     */
    async claim(
      run: (marks: readonly number[]) => Promise<DueResult>,
      { isHinted, mayMove, limits }: { isHinted: boolean; mayMove: boolean; limits: readonly number[] },
    ): Promise<DueResult> {
      const result = await find(run, { isHinted, mayMove });
      claimedAt = result.databaseMilliseconds;
      if (mayMove) {
        const highest = result.databaseMilliseconds - MARGIN_MILLISECONDS;
        marks = result.lowestDue.map((lowest, retryClass) =>
          limits[retryClass]! > 0 ? Math.min(lowest ?? highest, highest) : marks[retryClass]!,
        );
      }
      return result;
    },
  };
}
