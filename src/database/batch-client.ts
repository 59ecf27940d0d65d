import type pg from 'pg';
import { queryOf, type Runner, type Statement } from './statement.ts';

/** Runs statements in a transaction. */
export type Writer = { query: Runner };

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
  const query = async (bound: Statement): Promise<never[]> => {
    const { values, ...statement } = queryOf(bound);
    return (await send({ ...statement, values: [...values] })).rows as never[];
  };
  const last: Statement[] = [];
  const begun = isStatement ? undefined : send('BEGIN');
  const result = await run({ query, queryLast: (statement) => void last.push(statement) });
  // After a failed statement, the server responds to the commit with a rollback and no error.
  await Promise.all([begun, ...last.map(query), isStatement ? undefined : send('COMMIT')]);
  return result;
}
