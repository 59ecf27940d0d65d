import type pg from 'pg';

/** A statement. The server plans it once per connection, so a name must always refer to the same text. */
export type Statement = { name: string; text: string; values: readonly unknown[] };

/** Runs statements in a transaction. */
export type Writer = { query<Row>(statement: Statement): Promise<Row[]> };

/**
 * The connection of a batch. Statements run in the order they are sent. Each statement sees the changes made by earlier
 * statements, as well as changes that other transactions committed while earlier statements waited for locks. On a
 * connection in pipeline mode, statements that are sent without waiting for each other share a round trip.
 */
export type BatchClient = Writer & {
  /** Sends a statement together with the commit. If the statement fails, nothing is committed. */
  queryLast(statement: Statement): void;
};

/**
 * Runs a batch on a connection, in a transaction unless it is a single statement. After an error, the transaction may
 * still be open.
 */
export async function runBatch<T>(
  client: pg.ClientBase & { readonly pipeline?: boolean },
  { isStatement }: { isStatement: boolean },
  run: (batch: BatchClient) => Promise<T>,
): Promise<T> {
  let previous: Promise<unknown> = Promise.resolve();
  function send(query: string | pg.QueryConfig): Promise<pg.QueryResult> {
    const result = client.pipeline ? client.query(query) : previous.then(() => client.query(query));
    // The batch fails with its first error, because that error caused the later ones.
    result.catch(() => {});
    previous = result;
    return result;
  }
  const query = async <Row>({ name, text, values }: Statement) =>
    (await send({ name, text, values: [...values] })).rows as Row[];
  const last: Statement[] = [];
  const begun = isStatement ? undefined : send('BEGIN');
  const result = await run({ query, queryLast: (statement) => void last.push(statement) });
  // After a failed statement, the server responds to the commit with a rollback and no error.
  await Promise.all([begun, ...last.map(query), isStatement ? undefined : send('COMMIT')]);
  return result;
}
