import { type IdType, isId } from '../ids.ts';

/**
 * A sort order for a list: by a column, then by ID. It needs an index on both.
 *
 * @template Row the fields of the list's rows.
 */
export type Order<Row extends { id: string }> = {
  /** The prefix of this order's cursors, so that a cursor from another order isn't accepted. */
  name: string;
  column: string;
  direction: 'asc' | 'desc';
  /** Converts a value of the column to text for the cursor. */
  write(row: Row): string;
  /** Converts the cursor's text back to a value. Returns undefined if the text is invalid. */
  read(text: string): unknown;
};

const PATTERN = /^([a-z]+)\.([\w-]{1,2800})\.([0-9a-z_]{1,40})$/;

/** A row's position in a list. The cursor stays valid even if the row moves or is deleted. */
export function cursorOf<Row extends { id: string }>(order: Order<Row>, row: Row): string {
  return `${order.name}.${order.write(row)}.${row.id}`;
}

/** @returns undefined if it isn't a cursor from a list in this order. */
export function parseCursor<Row extends { id: string }>(order: Order<Row>, type: IdType, cursor: string) {
  const [, name, text, id] = PATTERN.exec(cursor) ?? [];
  if (name !== order.name || text === undefined || id === undefined || !isId(type, id)) return undefined;
  const value = order.read(text);
  return value === undefined ? undefined : { value, id };
}

/**
 * The Prisma filter for rows after or before a cursor that `parseCursor` accepts. The first condition lets the database
 * use an index.
 */
export function beyond<Row extends { id: string }>(
  order: Order<Row>,
  type: IdType,
  cursor: string,
  side: 'after' | 'before',
) {
  const { value, id } = parseCursor(order, type, cursor)!;
  const { column, direction } = order;
  const operator = (direction === 'desc') === (side === 'after') ? 'lt' : 'gt';
  return {
    [column]: { [`${operator}e`]: value },
    OR: [{ [column]: { [operator]: value } }, { id: { [operator]: id } }],
  };
}

/** The order as Prisma expects it. */
export function inOrder<Row extends { id: string }>({ column, direction }: Order<Row>) {
  return [{ [column]: direction }, { id: direction }];
}

/** Amounts as whole atomic units. */
export const WHOLE_NUMBER = (text: string) => (/^\d{1,38}$/.test(text) ? text : undefined);

/** Times as milliseconds since 1970. */
export const TIME = (text: string) =>
  /^\d{1,16}$/.test(text) && Number(text) <= 8.64e15 ? new Date(Number(text)) : undefined;

/** The cursors of a list in this order, for `resolveSlice`. */
export function cursorsIn<Row extends { id: string }>(order: Order<Row>, type: IdType) {
  return {
    isCursor: (cursor: string) => parseCursor(order, type, cursor) !== undefined,
    cursorOf: (row: Row) => cursorOf(order, row),
  };
}
