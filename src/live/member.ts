import { type FoundRow, isShown, type Progress } from './progress.ts';

/** A new row: where it was found, the progress after this row, its size, and whether its last change can be ignored. */
export type Found<Row, Item> = {
  row: Row;
  item: Item;
  location: FoundRow;
  progress: Progress;
  bytes: number;
  isIgnorable: boolean;
};

export type MemberOptions<Row> = {
  matches(row: Row): boolean;
  /** Counts bytes as waiting until the returned function is called. */
  reserve(bytes: number): () => void;
  /** Whether this member shouldn't hold any bytes, because too many are already waiting elsewhere. */
  isCrowded(): boolean;
};

/** Whether the row is current: no newer version of it has been shown. */
type IsCurrent = (row: FoundRow) => Promise<boolean>;

/** One reader of a follower's rows. */
export type Member<Item> = {
  /**
   * Emits collected rows, and then new ones, except those that have already been shown or aren't current. Ends if the
   * reader is so slow that too much is waiting.
   *
   * @returns the progress that other reads can continue from.
   */
  items(shown: Progress, isCurrent: IsCurrent, signal: AbortSignal): AsyncGenerator<Item, Progress>;
  leave(): void;
};

/** How much can wait for a member that is slower than the writers for a moment. */
const MAX_WAITING_ROWS = 64;
const MAX_WAITING_BYTES = 32 * 1024;

/** Collects matching rows for a member. It leaves automatically when too much is waiting. */
export function createMember<Row, Item>({ matches, reserve, isCrowded }: MemberOptions<Row>, onLeave: () => void) {
  const waiting: (Found<Row, Item> & { release(): void })[] = [];
  let waitingBytes = 0;
  let hasLeft = false;
  let failure: { error: unknown } | undefined;
  let change = Promise.withResolvers<void>();

  function stopCollecting(): void {
    if (hasLeft) return;
    hasLeft = true;
    onLeave();
    change.resolve();
  }

  function take(): Found<Row, Item> | undefined {
    const next = waiting.shift();
    next?.release();
    waitingBytes -= next?.bytes ?? 0;
    return next;
  }

  return {
    offer(found: Found<Row, Item>): void {
      if (hasLeft || !matches(found.row)) return;
      waiting.push({ ...found, release: reserve(found.bytes) });
      waitingBytes += found.bytes;
      change.resolve();
      if (waiting.length >= MAX_WAITING_ROWS || waitingBytes > MAX_WAITING_BYTES || isCrowded()) stopCollecting();
    },
    fail(error: unknown): void {
      failure = { error };
      stopCollecting();
    },
    async *items(shown: Progress, isCurrent: IsCurrent, signal: AbortSignal): AsyncGenerator<Item, Progress> {
      const onAbort = () => change.resolve();
      signal.addEventListener('abort', onAbort);
      let reached = shown;
      try {
        while (!signal.aborted) {
          change = Promise.withResolvers();
          const next = take();
          if (next) {
            if (isShown(next.location, shown, next.isIgnorable) || !(await isCurrent(next.location))) continue;
            reached = next.progress;
            yield next.item;
          } else if (failure) {
            throw failure.error;
          } else if (hasLeft) {
            break;
          } else {
            await change.promise;
          }
        }
        return reached;
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    leave(): void {
      stopCollecting();
      while (take());
    },
  };
}
