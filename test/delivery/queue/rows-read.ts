import type pg from 'pg';
import type { Queryable } from '../../../src/database/client.ts';

type Counts = { 'Rows Removed by Filter'?: number; 'Rows Removed by Index Recheck'?: number };
/** A node of a plan that was run with `EXPLAIN (ANALYZE, FORMAT JSON)`. */
export type PlanNode = {
  'Actual Rows': number;
  'Actual Loops': number;
  'Relation Name'?: string;
  Plans?: PlanNode[];
} & Counts;

/** Counts the table rows that a plan read, including rows that it filtered out. */
export function rowsRead(node: PlanNode): number {
  const looked =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own = node['Relation Name'] ? looked * node['Actual Loops'] : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), own);
}

/**
 * Counts the rows that statements read. The plans are the same as without this, because each statement is prepared and
 * planned with the connection's settings. The server's own counters would also count rows that earlier statements on the
 * connection have read, and miss rows that are read through an index.
 *
 * @param client must be in a transaction, because each statement also runs once for its plan, which is then undone.
 */
export function countRows(client: pg.ClientBase): { db: Queryable; read: () => number } {
  let read = 0;

  const literal = (value: unknown): string =>
    Array.isArray(value) ? client.escapeLiteral(`{${value.join(',')}}`) : client.escapeLiteral(String(value));

  async function explain(text: string, values: readonly unknown[]): Promise<void> {
    const parameters = values.length > 0 ? `(${values.map(literal).join(', ')})` : '';
    await client.query('SAVEPOINT unchanged');
    await client.query(`PREPARE counted AS ${text}`);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) EXECUTE counted${parameters}`,
    );
    await client.query('DEALLOCATE counted; ROLLBACK TO unchanged');
    read += rowsRead(rows[0]!['QUERY PLAN'][0].Plan);
  }

  const query = async (statement: string | pg.QueryConfig, values: unknown[] = []) => {
    const config = typeof statement === 'string' ? { text: statement, values } : statement;
    await explain(config.text, config.values ?? []);
    return client.query(config);
  };
  return { db: { query: query as Queryable['query'] }, read: () => read };
}
