import pg from 'pg';

export type Statement = { text: string; values: unknown[] };
export type Plan = {
  text: string;
  partitions: number;
  indexes: string[];
  /** The partitions and large tables that the statement reads from beginning to end. */
  sequential: string[];
  rowsRead: number;
  buffers: number;
  ms: number;
};

const PARTITION = /^(Event|Delivery|Attempt)_/;
/** The tables that grow over time, or with the number of accounts. */
const GROWING =
  /^(DeliveryRollup|FilteredOutRollup|ChangedDeliveryHour|Payment|Customer|RevenueDay|RevenueHour|CustomerRevenue|ChangedRevenueHour|AuditEntry|User|Project|Webhook|Connector)$/;
/** PostgreSQL rightly reads a table sequentially if it has few rows. */
const FEW_ROWS = 10_000;

/** Records the queries that `run` sends to PostgreSQL. */
export async function statementsOf(run: () => Promise<unknown>): Promise<Statement[]> {
  const seen: Statement[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: Parameters<typeof query>) {
    const [config, values] = args as unknown as [string | Statement, unknown[]?];
    const text = typeof config === 'string' ? config : config.text;
    seen.push({ text, values: (typeof config === 'string' ? values : config.values) ?? [] });
    return query.apply(this, args);
  } as typeof query;
  try {
    await run();
  } finally {
    pg.Client.prototype.query = query;
  }
  return seen.filter(({ text }) => /^[\s(]*(SELECT|WITH)\b/.test(text));
}

type Node = {
  'Node Type'?: string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
};

/** How PostgreSQL runs a statement: what it reads, and from which indexes and partitions. Skipped nodes don't count. */
export async function explain(pool: pg.Pool, { text, values }: Statement): Promise<Plan> {
  const run = (format: string) => pool.query({ text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT ${format}) ${text}`, values });
  const [{ Plan: plan, 'Execution Time': ms }] = (await run('JSON')).rows[0]['QUERY PLAN'];
  const lines = (await run('TEXT')).rows.map((row) => row['QUERY PLAN']);
  const scans = nodesOf(plan).filter(({ 'Relation Name': name = '', 'Actual Loops': loops }) => {
    return (PARTITION.test(name) || GROWING.test(name)) && loops! > 0;
  });
  const read = (node: Node) => (node['Actual Rows']! + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']!;
  return {
    text: lines.join('\n'),
    partitions: new Set(scans.map((node) => node['Relation Name'])).size,
    // PostgreSQL reads an empty partition without an index, and names a partition's index after its columns.
    indexes: [
      ...new Set(
        scans
          .filter((node) => indexesOf(node).length > 0 || read(node) > 0)
          .flatMap((node) => (indexesOf(node).length > 0 ? indexesOf(node) : ['none']))
          .map((name) => name.replace(/_(week_\d+|default)/, '')),
      ),
    ],
    sequential: scans
      .filter((node) => node['Node Type'] === 'Seq Scan')
      .filter((node) => read(node) > (PARTITION.test(node['Relation Name']!) ? 0 : FEW_ROWS))
      .map((node) => node['Relation Name']!),
    rowsRead: scans.reduce((sum, node) => sum + read(node), 0),
    buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    ms,
  };
}

/** The indexes of a scan. For a bitmap scan, they are in the nodes below it. */
function indexesOf(scan: Node): string[] {
  return nodesOf(scan).flatMap((node) => node['Index Name'] ?? []);
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
