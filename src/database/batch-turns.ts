/** Something that waits to be written. */
type Waiting = { item: unknown; waitsSince: number };

/** Items of one kind that are waiting, and how many rows they write. */
type Line<Entry extends Waiting> = {
  waiting: readonly Entry[];
  weightOf?: (item: unknown) => number;
  accountOf?: (item: unknown) => string;
};

/** Items that write more rows than this are heavy. */
const MAX_LIGHT_WEIGHT = 16;

/** How many rows an item writes. */
export const weightIn = <Entry extends Waiting>({ weightOf }: Line<Entry>, { item }: Entry): number =>
  weightOf?.(item) ?? 1;

/**
 * Decides which items are written next. Heavy items share no batch with others, and their batches alternate with those of
 * the others. Otherwise, an account whose items write thousands of rows would hold up all accounts. Accounts with heavy
 * items take turns.
 */
export function createBatchTurns() {
  /** When accounts with heavy items had their last turn, as a number that increases. */
  const turns = new Map<string, number>();
  let turn = 0;
  let isHeavyNext = false;

  /** The items that the next batch is made of, the first one first. */
  function inOrder<Entry extends Waiting>(line: Line<Entry>, isHeavy: boolean): Entry[] {
    const entries = line.waiting.filter((entry) => weightIn(line, entry) > MAX_LIGHT_WEIGHT === isHeavy);
    if (!isHeavy) return entries;
    const byAccount = Map.groupBy(entries, (entry) => accountIn(line, entry));
    const accounts = [...byAccount].sort(([one], [other]) => lastTurn(one) - lastTurn(other));
    const most = Math.max(0, ...accounts.map(([, { length }]) => length));
    return Array.from({ length: most }, (_, index) => accounts.flatMap(([, own]) => own[index] ?? [])).flat();
  }

  const lastTurn = (account: string) => turns.get(account) ?? 0;
  const accountIn = <Entry extends Waiting>({ accountOf }: Line<Entry>, { item }: Entry) => accountOf?.(item) ?? '';

  return {
    /** The line whose turn it is, and its items in the order that they should be written. Undefined if nothing waits. */
    next<Entry extends Waiting, Own extends Line<Entry>>(
      lines: readonly (Own & { waiting: readonly Entry[] })[],
    ): { line: Own; entries: Entry[] } | undefined {
      for (const isHeavy of [isHeavyNext, !isHeavyNext]) {
        const found = lines
          .map((line) => ({ line, entries: inOrder<Entry>(line, isHeavy) }))
          .filter(({ entries }) => entries.length > 0)
          .map((one) => {
            const [first] = one.entries;
            return { ...one, since: first!.waitsSince, turn: isHeavy ? lastTurn(accountIn(one.line, first!)) : 0 };
          })
          .sort((one, other) => one.turn - other.turn || one.since - other.since)[0];
        if (!found) continue;
        isHeavyNext = !isHeavy;
        return found;
      }
      turns.clear();
      return undefined;
    },

    /** Call this with the items of a batch. */
    taken<Entry extends Waiting>(line: Line<Entry>, entries: readonly Entry[]): void {
      for (const entry of entries)
        if (weightIn(line, entry) > MAX_LIGHT_WEIGHT) turns.set(accountIn(line, entry), ++turn);
    },
  };
}
