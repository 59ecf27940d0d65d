import { newId } from '../../src/ids.ts';
import { type Changes, type ChangesRequest, type FoundRow, isBehind, type Progress } from '../../src/live/progress.ts';

export type SimulatedRow = {
  id: string;
  milliseconds: number;
  transaction: bigint;
  /** Counts the changes that the feed shows. */
  version: number;
  /** Whether the feed hides the last write, as it does when a delivery is claimed. */
  isIgnorable: boolean;
};

type OpenTransaction = { milliseconds: number; written: Map<string, SimulatedRow> };

/**
 * Simulates a table with concurrent transactions and snapshots. Each row has its transaction's start time, according to
 * the clock of the machine, and becomes visible when the transaction commits.
 */
export function createSimulatedTable(pageSize: number) {
  const rows = new Map<string, SimulatedRow>();
  const sizes = new Map<bigint, number>();
  const open = new Map<bigint, OpenTransaction>();
  let now = 1_700_000_000_000;
  let nextTransaction = 1000n;

  const oldestOpen = () => [...open.keys()].reduce((a, b) => (a < b ? a : b), nextTransaction);
  const pick = <T>(items: T[], choice: number): T | undefined => items[choice % Math.max(1, items.length)];
  const isLocked = (id: string) => [...open.values()].some(({ written }) => written.has(id));

  function write(
    choice: number,
    change: (row: SimulatedRow | undefined, at: OpenTransaction) => SimulatedRow | undefined,
  ) {
    const [transaction, at] = pick([...open], choice) ?? [];
    if (transaction === undefined || !at) return;
    const target = pick(
      [...rows.values()].filter(({ id }) => !isLocked(id)),
      choice,
    );
    const row = change(target, at);
    if (row) at.written.set(row.id, { ...row, transaction });
  }

  return {
    rows,
    /** Returns how many rows a transaction wrote. */
    sizeOf: (transaction: bigint) => sizes.get(transaction) ?? 0,
    /** Advances the clock. */
    tick(milliseconds: number) {
      now += milliseconds;
    },
    /** Starts a transaction on a machine with a clock that is off by `skewMilliseconds`. */
    begin(skewMilliseconds: number) {
      open.set(nextTransaction++, { milliseconds: now + skewMilliseconds, written: new Map() });
    },
    insert(choice: number) {
      write(choice, (_target, { milliseconds }) => ({
        id: newId('Delivery'),
        milliseconds,
        transaction: 0n,
        version: 1,
        isIgnorable: false,
      }));
    },
    update(choice: number) {
      write(choice, (row, { milliseconds }) => {
        if (!row) return undefined;
        const changed = milliseconds === row.milliseconds ? milliseconds + 1 : milliseconds;
        return { ...row, milliseconds: changed, version: row.version + 1, isIgnorable: false };
      });
    },
    /** Writes a row without changing anything that the feed shows. */
    claim(choice: number) {
      write(choice, (row) => row && { ...row, isIgnorable: true });
    },
    commit(choice: number) {
      const [transaction, at] = pick([...open], choice) ?? [];
      if (transaction === undefined || !at) return;
      open.delete(transaction);
      sizes.set(transaction, at.written.size);
      for (const row of at.written.values()) rows.set(row.id, row);
    },
    commitAll() {
      while (open.size > 0) this.commit(0);
    },
    /** Returns the progress of a client that has seen nothing. */
    beginning(): Progress {
      return {
        position: { milliseconds: 0, id: newId('Delivery', 0) },
        readAtMilliseconds: now,
        horizon: oldestOpen(),
        shown: new Map(),
      };
    },
    /** Returns the progress of a client that has seen every visible row. */
    seeAll(): Progress {
      const last = [...rows.values()].reduce<FoundRow | undefined>((a, b) => (a && isBehind(a, b) ? a : b), undefined);
      const horizon = oldestOpen();
      const shown = [...rows.values()].filter(({ transaction }) => transaction >= horizon);
      return {
        position: last ?? this.beginning().position,
        readAtMilliseconds: now,
        horizon,
        shown: new Map(shown.map(({ transaction, milliseconds }) => [transaction, milliseconds])),
      };
    },
    async query({ position, horizon, shown, sinceMilliseconds }: ChangesRequest): Promise<Changes> {
      const ordered: FoundRow[] = [...rows.values()].sort((a, b) => (isBehind(a, b) ? 1 : -1));
      const isLate = ({ milliseconds, transaction, id }: FoundRow) =>
        milliseconds >= sinceMilliseconds &&
        transaction >= horizon &&
        !shown.includes(transaction) &&
        !rows.get(id)!.isIgnorable;
      const allLate = ordered.filter((row) => !isBehind(row, position) && isLate(row));
      const last = allLate.map(({ transaction }) => transaction).sort((a, b) => Number(a - b))[pageSize - 1];
      const behind = ordered.filter((row) => isBehind(row, position)).slice(0, pageSize);
      return {
        late: allLate.filter(({ transaction }) => last === undefined || transaction <= last),
        isLateFull: last !== undefined,
        behind,
        isFull: behind.length === pageSize,
        horizon: oldestOpen(),
        newest: nextTransaction,
        nowMilliseconds: now,
      };
    },
    /** Returns the current rows, with the transactions that the read found. */
    async load(wanted: readonly FoundRow[]): Promise<Map<string, SimulatedRow>> {
      const found = wanted.flatMap(({ id, milliseconds, transaction }) => {
        const row = rows.get(id);
        return row?.milliseconds === milliseconds ? [{ ...row, transaction }] : [];
      });
      return new Map(found.map((row) => [row.id, row]));
    },
  };
}
