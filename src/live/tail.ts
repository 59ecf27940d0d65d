export type TailOptions<Row, Item> = {
  /** Registers for hints that there is something new; returns how to unregister. */
  subscribe(wake: () => void): () => void;
  pollMilliseconds: number;
  /** How far each look goes back behind the newest row that was seen. */
  overlapMilliseconds: number;
  /** Rows of this time and later are wanted. */
  start: number;
  /** Whether rows within the overlap before `start` may be unseen, and so are shown. */
  replayOverlap: boolean;
  /** Key of the row that the caller has seen last. */
  seen: string | undefined;
  /** Tells one version of a row from another. */
  keyOf(row: Row): string;
  timeOf(row: Row): number;
  /** Rows at or after `since`, behind `position` if given, oldest first, at most `pageSize`. */
  read(since: number, position: Row | undefined): Promise<Row[]>;
  pageSize: number;
  present(row: Row): Item;
};

/**
 * Follows a table: yields what is there from `start` on, then what comes, each version of a row once. Reads only as
 * fast as it is consumed. Ends when the consumer returns.
 */
export async function* tail<Row, Item>(options: TailOptions<Row, Item>): AsyncGenerator<Item, void, undefined> {
  const { overlapMilliseconds, replayOverlap, keyOf, timeOf } = options;
  const shown = new Map<string, number>();
  let newest = options.start;
  const oldestWanted = replayOverlap ? options.start - overlapMilliseconds : options.start;
  if (options.seen) shown.set(options.seen, options.start);

  let wake: () => void = () => {};
  let hinted = false;
  const unsubscribe = options.subscribe(() => {
    hinted = true;
    wake();
  });
  try {
    for (;;) {
      hinted = false;
      const since = Math.max(newest - overlapMilliseconds, oldestWanted);
      let position: Row | undefined;
      for (;;) {
        const rows: Row[] = await options.read(since, position);
        for (const row of rows) {
          newest = Math.max(newest, timeOf(row));
          const key = keyOf(row);
          if (shown.has(key)) continue;
          shown.set(key, timeOf(row));
          yield options.present(row);
        }
        position = rows.at(-1);
        if (rows.length < options.pageSize) break;
      }
      for (const [key, time] of shown) if (time < newest - 2 * overlapMilliseconds) shown.delete(key);
      if (!hinted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, options.pollMilliseconds);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
    }
  } finally {
    unsubscribe();
  }
}
