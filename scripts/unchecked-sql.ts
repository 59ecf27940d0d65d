/**
 * Files that send SQL that isn't a statement, each with the reason. `npm run check` finds all others. Each line can also
 * have commands that refer to no table, such as `BEGIN`.
 */
export const SENDS_SQL: ReadonlyMap<string, string> = new Map([
  ['src/database/statement.ts', 'runs the statements'],
  ['src/database/batch-client.ts', 'runs the statements of a batch'],
  ['src/database/client.ts', 'applies settings'],
  ['src/database/pooler.ts', 'reads settings'],
  ['src/database/migrations.ts', 'creates the schema'],
  ['src/database/migration-history.ts', 'works before there is a schema'],
  ['src/database/concurrent-indexes.ts', 'builds and drops indexes'],
  ['src/database/partitions.ts', 'creates and drops partitions'],
  ['src/database/readiness.ts', 'sends a whole transaction as one message'],
  ['src/cli/doctor/database-connections.ts', 'listens on a channel'],
  ['src/cli/doctor/database.ts', 'reads settings, and works before there is a schema'],
  ['src/cli/doctor/secrets.ts', 'works before there is a schema'],
]);

/** `batch` and `writer` run statements, and the others aren't connections. */
const SENDS =
  /(?<!\b(?:batch|writer|prismaWriter\(tx\)|options|reader|table)|\.\.)\.(?:query|\$(?:query|execute)Raw(?:Unsafe)?)[<(`]/;
/** Commands that refer to no table. `BEGIN` is a constant where it also applies settings. */
const COMMAND = /\.query\((?:'(?:BEGIN|COMMIT|ROLLBACK|SELECT 1)'|BEGIN|`LISTEN \$\{CHANNEL\}`)\)/;

/** The places in a file where SQL is sent that isn't a statement, and so isn't checked. */
export function uncheckedSql(path: string, text: string): string[] {
  if (SENDS_SQL.has(path)) return [];
  return text
    .split('\n')
    .flatMap((line, index) =>
      SENDS.test(line) && !COMMAND.test(line) && !/^\s*(?:\*|\/\/|\/\*)/.test(line)
        ? [`${path}:${index + 1} sends SQL that isn't a statement: ${line.trim()}`]
        : [],
    );
}
