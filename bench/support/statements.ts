import pg from 'pg';

export type StatementCounts = { statements: number; commits: number };

/**
 * Counts the statements that all `pg` clients of this process send from now on, including `BEGIN` and `COMMIT`. A
 * statement outside a transaction also counts as a commit.
 */
export function countStatements(): () => StatementCounts {
  const counts: StatementCounts = { statements: 0, commits: 0 };
  const inTransaction = new WeakSet<pg.Client>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: Parameters<typeof query>) {
    counts.statements++;
    const text = textOf(args[0]);
    if (text.startsWith('BEGIN')) inTransaction.add(this);
    else if (text.startsWith('COMMIT') || text.startsWith('ROLLBACK')) inTransaction.delete(this);
    if (!inTransaction.has(this) && !text.startsWith('ROLLBACK')) counts.commits++;
    return query.apply(this, args);
  } as typeof query;
  return () => ({ ...counts });
}

function textOf(query: unknown): string {
  return typeof query === 'string' ? query : ((query as { text?: string }).text ?? '');
}
