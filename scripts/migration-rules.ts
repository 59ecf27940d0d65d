import { indexChangeOf } from '../src/database/concurrent-indexes.ts';

/** Tables that can have millions of rows. */
const LARGE = ['Event', 'Delivery', 'Attempt', 'Payment', 'PaymentAnswer', 'Customer', 'AuditEntry'];
const large = `"(?:${LARGE.join('|')})"`;

/** The ways a statement can break things, and how to recognize each one. The table, if any, is in the group `table`. */
const RULES: readonly { danger: string; pattern: RegExp }[] = [
  {
    danger: 'drops something that old processes use',
    pattern: /^(?:DROP (?:FUNCTION|TRIGGER|TYPE|VIEW)\b|ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bDROP CONSTRAINT\b)/,
  },
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
  {
    danger: 'reads or writes the whole table while everything else waits',
    pattern:
      /^ALTER TABLE (?:ONLY )?"(?<table>\w+)".*\bADD COLUMN [^,]*\b(?:GENERATED|(?:SMALL|BIG)?SERIAL|UNIQUE|gen_random_uuid|random|nextval|clock_timestamp)\b/i,
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
    danger: 'blocks writes while it builds an index; use CREATE INDEX CONCURRENTLY',
    pattern: /^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY).*? ON (?:ONLY )?"(?<table>\w+)"/,
  },
  {
    danger: 'changes many rows in one transaction',
    pattern: new RegExp(`^(?:WITH .*)?(?:UPDATE|DELETE FROM|INSERT INTO|TRUNCATE) .*${large}`),
  },
];

/** Takes the place of a comment that says why the next statement is safe. */
const IS_SAFE = '/* safe */';

/**
 * Lists what a migration can break while processes from the last release are still running, as "danger: statement".
 * Statements that affect only tables created by the migration itself are safe. So are those directly after a comment that
 * says why, such as `-- Safe: no process has used this column since 1.2.0.`
 */
export function dangersIn(sql: string): string[] {
  const statements = statementsOf(sql);
  const created = new Set(statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []));
  const found = statements.flatMap((statement) => {
    const text = statement.replace(IS_SAFE, '').trim();
    const dangers = RULES.filter(({ pattern }) => {
      const match = pattern.exec(text);
      return match && !created.has(match.groups?.table ?? '');
    }).map(({ danger }) => `${danger}: ${text.slice(0, 100)}`);
    if (!statement.startsWith(IS_SAFE)) return dangers;
    return dangers.length > 0 ? [] : [`needs no comment that it is safe: ${text.slice(0, 100)}`];
  });
  if (statements.some((statement) => /\bINDEX CONCURRENTLY\b/.test(statement)) && !indexChangeOf(sql))
    found.push(
      'can’t be applied: CREATE INDEX CONCURRENTLY "name" ON "table" … and DROP INDEX CONCURRENTLY "name" need a ' +
        'migration of their own, without IF EXISTS',
    );
  return found;
}

/** The statements, each on one line, without comments or the bodies of functions and blocks. */
function statementsOf(sql: string): string[] {
  return sql
    .replaceAll(/^-- Safe: \S.*$/gm, IS_SAFE)
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$\$.*?\$\$/gs, "''")
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter(Boolean);
}
