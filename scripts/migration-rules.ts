/** Tables that can have millions of rows. */
const LARGE = ['Event', 'Delivery', 'Attempt', 'Payment', 'PaymentAnswer', 'Customer', 'AuditEntry'];
const large = `"(?:${LARGE.join('|')})"`;

/** The ways a statement can break things, and how to recognize each one. The table, if any, is in the group `table`. */
const RULES: readonly { danger: string; pattern: RegExp }[] = [
  { danger: 'drops a table that old processes use', pattern: /^DROP TABLE (?:IF EXISTS )?"(?<table>\w+)"/ },
  {
    danger: 'drops a column that old processes use',
    pattern: /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bDROP COLUMN\b/,
  },
  {
    danger: 'renames something that old processes use',
    pattern: /^ALTER (?:TABLE|TYPE) (?:ONLY )?"(?<table>\w+)".*\bRENAME\b/,
  },
  {
    danger: 'changes a type that old processes read and write',
    pattern: /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bALTER COLUMN "\w+" (?:SET DATA )?TYPE\b/,
  },
  {
    danger: 'rejects rows that old processes write',
    pattern:
      /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\b(?:SET NOT NULL|DROP DEFAULT|ADD (?:CONSTRAINT "\w+" )?CHECK)\b/,
  },
  {
    danger: 'rejects rows that old processes write',
    pattern: /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bADD COLUMN (?![^,]*\bDEFAULT\b)[^,]*\bNOT NULL\b/,
  },
  { danger: 'rejects rows that old processes write', pattern: /^CREATE UNIQUE INDEX .*? ON "(?<table>\w+)"/ },
  {
    danger: 'rejects rows that old processes write',
    pattern:
      /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bADD (?:CONSTRAINT "\w+" )?(?:UNIQUE|PRIMARY KEY|FOREIGN KEY|EXCLUDE)\b/,
  },
  {
    danger: 'changes how rows from old processes are handled',
    pattern: /^CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER .*? ON "(?<table>\w+)"/,
  },
  { danger: 'runs code that can’t be checked', pattern: /^DO\b/ },
  {
    danger: 'stores nulls that old processes can’t read',
    pattern: /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bDROP NOT NULL\b/,
  },
  { danger: 'stores values that old processes can’t read', pattern: /^ALTER TYPE "(?<table>\w+)" ADD VALUE\b/ },
  { danger: 'drops an index that old processes may need for ON CONFLICT', pattern: /^DROP INDEX\b/ },
  {
    danger: 'blocks writes to a large table while it builds an index',
    pattern: new RegExp(`^CREATE (?:UNIQUE )?INDEX .*? ON (?<name>${large})`),
  },
  {
    danger: 'changes many rows in one transaction',
    pattern: new RegExp(`^(?:UPDATE|DELETE FROM|INSERT INTO) .*${large}`),
  },
];

/**
 * Lists what a migration can break while processes from the last release are still running, as "danger: statement".
 * Statements that affect only tables created by the migration itself are safe.
 */
export function dangersIn(sql: string): string[] {
  const statements = statementsOf(sql);
  const created = new Set(statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []));
  return statements.flatMap((statement) =>
    RULES.flatMap(({ danger, pattern }) => {
      const table = pattern.exec(statement)?.groups?.table;
      const isHarmless = !pattern.test(statement) || (table !== undefined && created.has(table));
      return isHarmless ? [] : [`${danger}: ${statement.slice(0, 100)}`];
    }),
  );
}

/** The statements, each on one line, without comments or function bodies. */
function statementsOf(sql: string): string[] {
  return sql
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/(FUNCTION[^;]*?AS )\$\$.*?\$\$/gs, "$1''")
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter(Boolean);
}
