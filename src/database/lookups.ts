type Batch<Row> = { ids: Set<string>; rows: Promise<ReadonlyMap<string, Row>> };

/**
 * Loads rows by their IDs. Rows requested for the same caller in the same turn of the event loop (for example, one for
 * each item in a list) are loaded with one statement, if they are requested with the same query.
 *
 * @param find loads the rows with these IDs that the caller can see. `query` selects what to read.
 */
export function createLookups<Caller extends object, Row extends { id: string }, Query extends object>(
  find: (caller: Caller, ids: string[], query: Query) => Promise<Row[]>,
) {
  const batches = new WeakMap<Caller, Map<string, Batch<Row>>>();

  function open(caller: Caller, query: Query): Batch<Row> {
    const ofCaller = batches.get(caller) ?? new Map<string, Batch<Row>>();
    batches.set(caller, ofCaller);
    const key = JSON.stringify(query);
    const opened = ofCaller.get(key);
    if (opened) return opened;
    const ids = new Set<string>();
    const isFull = new Promise((resolve) => process.nextTick(resolve)).then(() => ofCaller.delete(key));
    const rows = isFull
      .then(() => find(caller, [...ids], query))
      .then((found) => new Map(found.map((row) => [row.id, row] as const)));
    const batch = { ids, rows };
    ofCaller.set(key, batch);
    return batch;
  }

  /** @param caller rows are loaded together only if this is the same object. Null if the caller can't see the row. */
  return async (caller: Caller, id: string, query: Query): Promise<Row | null> => {
    const batch = open(caller, query);
    batch.ids.add(id);
    return (await batch.rows).get(id) ?? null;
  };
}
