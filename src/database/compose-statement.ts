/**
 * The text of a statement that makes several writes, which saves round trips and a transaction. Steps don't see each
 * other's writes, but `result` can read the rows that a step returns.
 *
 * @param steps the writes, in the order of their values. The parameters of each start at `$1`. A step can't have a
 *   `WITH` clause.
 * @param result what the statement returns, for example, `SELECT * FROM endpoint`, where `endpoint` is the name of a
 *   step with a `RETURNING` clause.
 */
export function composeText(steps: Readonly<Record<string, string>>, result: string): string {
  let first = 0;
  const parts = Object.entries(steps).map(([name, text]) => {
    const numbered = text.replace(PARAMETER, (_parameter, number: string) => `$${first + Number(number)}`);
    first += parameterCount(text);
    return `${name} AS (${numbered})`;
  });
  return `WITH ${parts.join(', ')} ${result}`;
}

const PARAMETER = /\$(\d+)/g;

/** The number of a text's last parameter. */
export function parameterCount(text: string): number {
  return Math.max(0, ...[...text.matchAll(PARAMETER)].map(([, number]) => Number(number)));
}
