import type pg from 'pg';
import type { StatementTypes } from '../../prisma/statements.ts';
import type { CommitTransaction } from '../request-context.ts';
import type { Queryable, Transaction } from './client.ts';
import type { Stored, StoredForPrisma } from './column-types.ts';

export type StatementName = keyof StatementTypes;

declare const ROW: unique symbol;

/** A statement with its values. `Row` is what it returns, according to the schema. */
export type Statement<Row = unknown> = { readonly [ROW]: Row };

/** What is sent to the server. If there is a name, the server plans the statement once per connection. */
export type Query = { name?: string; text: string; values: readonly unknown[] };

/** Adds the values to a statement. Their number and types come from the schema. */
export type Bind<Name extends StatementName> = (
  ...values: Nullable<StatementTypes[Name]['values']>
) => Statement<StatementTypes[Name]['row']>;

/** The schema doesn't say which parameters may be null. */
type Nullable<Values extends readonly unknown[]> = {
  [Index in keyof Values]: Values[Index] | null | undefined;
};

/** The texts of all statements, by name. `npm run check` compares them with the schema. */
export const STATEMENTS = new Map<string, string>();

/**
 * Defines an SQL statement. Call this when a module is loaded, so that `npm run check` finds the statement, and then run
 * `npm run generate:sql`, which writes its types to `prisma/statements.ts`. The server's statistics and logs show the
 * name, because it follows the first word of the text.
 *
 * @param name the resource and the action, for example, `payment-claim`.
 */
export function statement<Name extends StatementName>(name: Name, text: string): Bind<Name> {
  return define(name, text, false);
}

/**
 * Defines a statement that the server plans once per connection. Use it for frequent statements whose best plan doesn't
 * depend on the values.
 */
export function preparedStatement<Name extends StatementName>(name: Name, text: string): Bind<Name> {
  return define(name, text, true);
}

/** A statement for each variant. */
export type Variants<Name extends string, Variant extends string> = {
  [V in Variant]: Bind<Extract<`${Name}-${V}`, StatementName>>;
};

/** Defines the same statement for each of several variants, such as tables, as `<name>-<variant>`. */
export function statements<Name extends string, Variant extends string>(
  name: Name,
  variants: readonly Variant[],
  textOf: (variant: Variant) => string,
): Variants<Name, Variant> {
  return defineVariants(name, variants, textOf, false) as never;
}

/** Like `statements`, but each of them is planned once per connection. */
export function preparedStatements<Name extends string, Variant extends string>(
  name: Name,
  variants: readonly Variant[],
  textOf: (variant: Variant) => string,
): Variants<Name, Variant> {
  return defineVariants(name, variants, textOf, true) as never;
}

function defineVariants<Variant extends string>(
  name: string,
  variants: readonly Variant[],
  textOf: (variant: Variant) => string,
  isPrepared: boolean,
) {
  return Object.fromEntries(
    variants.map((variant) => [variant, define(`${name}-${variant}`, textOf(variant), isPrepared)]),
  );
}

/**
 * Defines a statement whose text contains a name that isn't known yet, such as that of a partition. `npm run check`
 * compares it with the schema for an example.
 */
export function statementFor<Name extends StatementName>(
  name: Name,
  example: string,
  textOf: (table: string) => string,
): (table: string) => Bind<Name> {
  define(name, textOf(example), false);
  return (table) => bind(name, textOf(table), false);
}

function define(name: string, text: string, isPrepared: boolean): (...values: readonly unknown[]) => never {
  if (STATEMENTS.has(name)) throw new Error(`There are two statements named ${name}.`);
  STATEMENTS.set(name, text);
  return bind(name, text, isPrepared);
}

function bind(name: string, text: string, isPrepared: boolean): (...values: readonly unknown[]) => never {
  const named = namedText(name, text);
  return (...values) => ({ ...(isPrepared && { name }), text: named, values }) as never;
}

/**
 * A statement's text with its name, which the server's statistics and logs then show. Since version 18, PostgreSQL leaves
 * out comments before the first word in `pg_stat_statements`.
 */
export function namedText(name: string, text: string): string {
  return text.trim().replace(/^\(*\w+/, (start) => `${start} /* ${name} */`);
}

/** What to send for a statement. */
export function queryOf(bound: Statement): Query {
  return bound as unknown as Query;
}

type Result<Row> = { rows: Row[]; rowCount: number | null };

/** Runs statements somewhere, and returns their rows. */
export type Runner = {
  <Row>(bound: Statement<Row>): Promise<Row[]>;
  <Row>(bound: Statement<Stored<Row>>): Promise<Row[]>;
};

/**
 * Runs a statement.
 *
 * @typeParam Row needed only to say what a JSON column contains, or that an expression can be null.
 */
export async function runStatement<Row>(db: Queryable, bound: Statement<Row>): Promise<Result<Row>>;
export async function runStatement<Row>(db: Queryable, bound: Statement<Stored<Row>>): Promise<Result<Row>>;
export async function runStatement(db: Queryable, bound: Statement): Promise<pg.QueryResult> {
  return db.query(bound as unknown as pg.QueryConfig);
}

/** Runs a statement in one of Prisma's transactions, and returns its rows. */
export async function runWithPrisma<Row>(
  tx: Pick<Transaction, '$queryRawUnsafe'>,
  bound: Statement<StoredForPrisma<Row>>,
): Promise<Row[]> {
  const { text, values } = queryOf(bound);
  return tx.$queryRawUnsafe(text, ...values);
}

/** Runs a statement that returns nothing in one of Prisma's transactions. @returns how many rows it wrote. */
export async function executeWithPrisma(tx: CommitTransaction, bound: Statement): Promise<number> {
  const { text, values } = queryOf(bound);
  return tx.$executeRawUnsafe(text, ...values);
}
