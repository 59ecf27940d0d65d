import type { Statement } from './batch-client.ts';

/** One of the writes in a composed statement. Its parameters start at `$1`. It can't have a `WITH` clause. */
export type Step = { text: string; values: readonly unknown[] };

const texts = new Map<string, string>();

/**
 * Combines several writes into one statement, which saves round trips and a transaction. Steps don't see each other's
 * writes, but `result` can read the rows that a step returns.
 *
 * @param name must refer to the same SQL in every call.
 * @param result what the statement returns, for example, `SELECT * FROM endpoint`, where `endpoint` is the name of a
 *   step with a `RETURNING` clause.
 */
export function composeStatement(name: string, steps: Readonly<Record<string, Step>>, result: string): Statement {
  let text = texts.get(name);
  if (text === undefined) {
    text = compose(steps, result);
    texts.set(name, text);
  }
  return { name, text, values: Object.values(steps).flatMap(({ values }) => values) };
}

function compose(steps: Readonly<Record<string, Step>>, result: string): string {
  let first = 0;
  const parts = Object.entries(steps).map(([name, { text, values }]) => {
    const numbered = text.replace(/\$(\d+)/g, (_parameter, number: string) => `$${first + Number(number)}`);
    first += values.length;
    return `${name} AS (${numbered})`;
  });
  return `WITH ${parts.join(', ')} ${result}`;
}
