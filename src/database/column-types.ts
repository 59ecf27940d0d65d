import type { Prisma } from '../generated/prisma/client.ts';

declare const COLUMN: unique symbol;

/** A JSON column. The caller declares what it contains. */
export type Json = { readonly [COLUMN]: 'json' };
/** A 64-bit integer: text from the driver, a `bigint` from Prisma. */
export type Int8 = { readonly [COLUMN]: 'int8' };
/** A decimal number: text from the driver, a `Decimal` from Prisma. */
export type Numeric = { readonly [COLUMN]: 'numeric' };

type Scalar = string | number | bigint | boolean | Date | Buffer | null | undefined;

/** The columns that the driver can return as these rows. */
export type Stored<Row> = { [Column in keyof Row]: StoredValue<Row[Column]> };
type StoredValue<Value> = Value extends string ? Value | Int8 | Numeric : Value extends Scalar ? Value : Value | Json;

/** The columns that Prisma can return as these rows. */
export type StoredForPrisma<Row> = { [Column in keyof Row]: StoredForPrismaValue<Row[Column]> };
type StoredForPrismaValue<Value> = Value extends bigint
  ? Int8
  : Value extends Prisma.Decimal
    ? Numeric
    : Value extends Scalar
      ? Value
      : Value | Json;
