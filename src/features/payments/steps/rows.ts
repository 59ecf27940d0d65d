import { type Payment, Prisma } from '../../../generated/prisma/client.ts';

/** A payment as the driver reads it. */
export type PaymentRow = Omit<Payment, 'amountAtomic'> & { amountAtomic: string };

export function toPayment(row: PaymentRow): Payment {
  return { ...row, amountAtomic: new Prisma.Decimal(row.amountAtomic) };
}

/** Turns a list of rows into one array per column, for `unnest`. */
export function columns<Item, Values extends readonly ((item: Item) => unknown)[]>(
  items: readonly Item[],
  values: Values,
): Columns<Values> {
  return values.map((value) => items.map(value)) as unknown as Columns<Values>;
}

type Columns<Values extends readonly ((item: never) => unknown)[]> = {
  [Index in keyof Values]: ReturnType<Values[Index]>[];
};

/** Every version of a row gets its own time, which live subscribers use to tell versions apart. */
export function touched(row: string): string {
  return `"updatedAt" = greatest(clock_timestamp(), ${row}."updatedAt" + interval '1 millisecond')`;
}

/** Clears the columns that a final payment no longer needs. */
export const FINAL = '"authorization" = NULL, "leasedUntil" = NULL';
