import { createHash } from 'node:crypto';

const MAX_NAMES = 500;
/** Longer statements contain long lists, and lists of the same length rarely occur again. */
const MAX_NAMED_LENGTH = 8 * 1024;
/** Matches reads from partitioned tables. The best index and the partitions to skip depend on the parameter values. */
const READS_HISTORY = /^SELECT .* FROM "public"\."(Event|Delivery|Attempt)"/s;

/**
 * Names Prisma's statements, so that the server plans each of them once per connection. Statements whose plan depends
 * on the values stay unnamed. The number and the length of named statements are limited, because a statement's text
 * varies with the length of its lists, and each takes up memory on every connection.
 *
 * @returns a function that returns a statement's name, or `''` for unnamed ones.
 */
export function boundedStatementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_NAMES || sql.length > MAX_NAMED_LENGTH || READS_HISTORY.test(sql)) return '';
    const name = `prisma_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`;
    names.set(sql, name);
    return name;
  };
}
