/** Describes the statements in `src/` on a migrated database, and writes their types. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type pg from 'pg';
import { STATEMENTS } from '../src/database/statement.ts';
import { type Description, describeStatement } from './describe-statement.ts';
import { readSources } from './folders.ts';
import { uncheckedSql } from './unchecked-sql.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** The types of all statements. `src/database/statement.ts` reads them. */
export const STATEMENT_TYPES_FILE = 'prisma/statements.ts';

const DEFINES = /statements?(?:For)?\(\s*['`]/i;

/** Loads every module that defines statements. @returns the statements' texts, by name. */
export async function loadStatements(): Promise<ReadonlyMap<string, string>> {
  for (const { path, text } of readSources())
    if (DEFINES.test(text)) await import(pathToFileURL(resolve(ROOT, path)).href);
  return STATEMENTS;
}

/** Where SQL is sent that isn't a statement, and so isn't checked. */
export function findUnchecked(): string[] {
  return readSources().flatMap(({ path, text }) => uncheckedSql(path, text));
}

/** A statement's file and name, for messages. The name of a variant starts with the statement's name. */
function placeOf(name: string): string {
  const sources = readSources().filter(({ text }) => DEFINES.test(text));
  for (let part = name; part !== ''; part = part.slice(0, Math.max(0, part.lastIndexOf('-')))) {
    const found = sources.find(({ text }) => text.includes(`'${part}'`));
    if (found) return `${found.path}: ${name}`;
  }
  return name;
}

/** The statements whose types differ from the ones on disk, each with its file. */
export function staleStatements(committed: string, current: string): string[] {
  const [old, now] = [typesByName(committed), typesByName(current)];
  return [...now].filter(([name, types]) => old.get(name) !== types).map(([name]) => placeOf(name));
}

function typesByName(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^ {2}"(.*?)": \{\n(.*?)^ {2}\};/gms)].map(([, name, types]) => [name!, types!]));
}

/**
 * Writes the types of statements as TypeScript. A parameter or a column whose type has no counterpart is a problem, as
 * is a statement that PostgreSQL rejects.
 *
 * @returns the file's text, and the problems, each with the statement's file and name.
 */
export async function describeStatements(
  client: pg.Client,
  texts: ReadonlyMap<string, string>,
): Promise<{ text: string; problems: string[] }> {
  const catalog = await readCatalog(client);
  const problems: string[] = [];
  const lines: string[] = [];
  for (const [name, text] of [...texts].sort(([left], [right]) => (left < right ? -1 : 1))) {
    try {
      lines.push(...typesOf(name, await describeStatement(client, text), catalog));
    } catch (error) {
      problems.push(`${placeOf(name)}: ${(error as Error).message}`);
    }
  }
  const types = lines.join('\n');
  const enums = [...catalog.enums].sort().filter(([type]) => new RegExp(`\\b${type}\\b`).test(types));
  const aliases = enums.map(([type, labels]) => `type ${type} = ${labels};`);
  return { text: [HEADER, ...aliases, '', 'export type StatementTypes = {', types, '};', ''].join('\n'), problems };
}

const HEADER = `// Written by \`npm run generate:sql\`. The types of the statements in \`src/\`, as PostgreSQL describes them.
import type { ArrayLiteral } from '../src/database/array-literal.ts';
import type { Int8, Json, Numeric } from '../src/database/column-types.ts';

type List<Value> = readonly (Value | null | undefined)[] | ArrayLiteral;
type Time = Date | string;
type Whole = number | bigint | string;
`;

type Catalog = {
  /** The name of each type, by its OID. Arrays end with \`[]\`. */
  types: ReadonlyMap<number, string>;
  /** The labels of each enum as a union, by its name. */
  enums: ReadonlyMap<string, string>;
  /**
   * The columns that aren't null, such as `16390.2`. Prisma gives a list a default instead of `NOT NULL`, and never writes
   * null to it.
   */
  required: ReadonlySet<string>;
};

async function readCatalog(client: pg.Client): Promise<Catalog> {
  const { rows: types } = await client.query<{ oid: number; name: string; element: string | null }>(
    `SELECT t.oid::int AS "oid", t.typname AS "name", e.typname AS "element"
     FROM pg_type t LEFT JOIN pg_type e ON e.typarray = t.oid`,
  );
  const { rows: enums } = await client.query<{ name: string; labels: string }>(
    `SELECT t.typname AS "name", string_agg(quote_literal(e.enumlabel), ' | ' ORDER BY e.enumsortorder) AS "labels"
     FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid GROUP BY t.typname`,
  );
  const { rows: required } = await client.query<{ column: string }>(
    `SELECT attrelid::text || '.' || attnum AS "column"
     FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     WHERE attnum > 0 AND (attnotnull OR typcategory = 'A' AND atthasdef)`,
  );
  return {
    types: new Map(types.map(({ oid, name, element }) => [oid, element === null ? name : `${element}[]`])),
    enums: new Map(enums.map(({ name, labels }) => [name, labels])),
    required: new Set(required.map(({ column }) => column)),
  };
}

function typesOf(name: string, { parameters, columns }: Description, catalog: Catalog): string[] {
  const values = parameters.map((oid) => valueType(nameOf(oid, catalog), catalog)).join(', ');
  const fields = columns.map(({ name, dataTypeID, tableID, columnID }) => {
    // PostgreSQL doesn't say whether an expression can be null.
    const isNullable = tableID !== 0 && !catalog.required.has(`${tableID}.${columnID}`);
    return `${JSON.stringify(name)}: ${columnType(nameOf(dataTypeID, catalog), catalog)}${isNullable ? ' | null' : ''}`;
  });
  const row =
    fields.length === 0 ? ['    row: object;'] : ['    row: {', ...fields.map((field) => `      ${field};`), '    };'];
  return [`  ${JSON.stringify(name)}: {`, `    values: [${values}];`, ...row, '  };'];
}

function nameOf(oid: number, { types }: Catalog): string {
  return types.get(oid) ?? `unknown (${oid})`;
}

const TEXT = ['text', 'varchar', 'bpchar', 'name', 'char', 'uuid', 'unknown'];
const TEXT_ONLY = ['xid', 'xid8', 'regclass', 'pg_snapshot', 'void', 'cstring', 'pg_lsn'];
const NUMBERS = ['int2', 'int4', 'float4', 'float8', 'oid'];
const TIMES = ['timestamptz', 'timestamp', 'date'];

const VALUES = new Map<string, string>([
  ...[...TEXT, ...TEXT_ONLY, 'interval'].map((type) => [type, 'string'] as const),
  ...NUMBERS.map((type) => [type, 'number'] as const),
  ...TIMES.map((type) => [type, 'Time'] as const),
  ['int8', 'Whole'],
  ['numeric', 'Whole'],
  ['bool', 'boolean'],
  // The driver sends objects as JSON, but lists as SQL arrays.
  ['json', 'string'],
  ['jsonb', 'string'],
  ['bytea', 'Buffer'],
]);

/** What the driver accepts for a parameter. */
function valueType(type: string, { enums }: Catalog): string {
  if (type.endsWith('[]')) return `List<${valueType(type.slice(0, -2), { enums } as Catalog)}>`;
  return VALUES.get(type) ?? enumType(type, enums);
}

const COLUMNS = new Map<string, string>([
  ...[...TEXT, ...TEXT_ONLY].map((type) => [type, 'string'] as const),
  ...NUMBERS.map((type) => [type, 'number'] as const),
  ...TIMES.map((type) => [type, 'Date'] as const),
  ['int8', 'Int8'],
  ['numeric', 'Numeric'],
  ['bool', 'boolean'],
  ['json', 'Json'],
  ['jsonb', 'Json'],
  ['bytea', 'Buffer'],
]);

/** What the driver returns for a column. */
function columnType(type: string, { enums }: Catalog): string {
  if (!type.endsWith('[]')) return COLUMNS.get(type) ?? enumType(type, enums);
  const element = type.slice(0, -2);
  // The driver doesn't split lists of types that it doesn't know.
  if (enums.has(element)) return 'string';
  if (COLUMNS.get(element) === 'Json') return 'Json';
  if (element === 'int8') return 'string[]';
  if (element === 'numeric') return 'number[]';
  return `${COLUMNS.get(element) ?? enumType(element, enums)}[]`;
}

function enumType(type: string, enums: Catalog['enums']): string {
  if (!enums.has(type)) throw new Error(`scripts/statements.ts has no type for ${type}`);
  return type;
}
